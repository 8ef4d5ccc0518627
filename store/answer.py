"""Run one SQL query of a user on the newest snapshot, through a read-only connection."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from store.choose import newest_snapshot
from store.errors import UsageError, counted
from store.query import Connection, connect

MISSING = "—"
_TEXT_WIDTH = 200


class BadQuery(UsageError):
    """The query is no SQL that a read-only connection runs."""


def answer(store_dir: Path, query: str, form: str) -> str:
    """Return the rows as text, csv or json.

    Raises:
        NoSnapshot: nothing was ingested yet.
        BadQuery: DuckDB refuses the query.
    """
    con = connect(newest_snapshot(store_dir))
    try:
        statements = len(con.extract_statements(query))
        if not statements:
            raise BadQuery("The query is empty. Pass one SQL statement, such as 'SELECT * FROM runs'.")
        if statements > 1:
            raise BadQuery(f"The query has {statements} statements, but only the last one would be answered. Pass one.")
        columns, rows = _rows(con, query)
    except duckdb.Error as error:
        raise BadQuery(f"The query failed: {str(error).strip()}") from None
    finally:
        con.close()
    return {"text": as_text, "csv": as_csv, "json": as_json}[form](columns, rows)


def _rows(con: Connection, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of a query; Ctrl-C ends it at once.

    The query runs in a thread, because DuckDB often sees a signal only after the query has ended.
    """

    def ask() -> tuple[list[str], list[tuple[Any, ...]]]:
        result = con.execute(query)
        columns = [column[0] for column in result.description or ()]
        return columns, result.fetchall() if columns else []

    with ThreadPoolExecutor(max_workers=1) as thread:
        future = thread.submit(ask)
        try:
            return future.result()
        except KeyboardInterrupt:
            con.interrupt()
            raise


def as_text(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Return an aligned table and the number of rows."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(MISSING if value is None else str(value)) for value in row))
    buffer = io.StringIO()
    console = Console(file=buffer, width=_TEXT_WIDTH, highlight=False)
    console.print(table)
    console.print(counted(len(rows), "row"))
    return buffer.getvalue()


def as_csv(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Return comma-separated lines with a header, which end with a newline as those of reports; NULL is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue()


def as_json(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Return one JSON object per row, one per line."""
    lines = [msgspec.json.encode(dict(zip(columns, row, strict=True)), enc_hook=str) for row in rows]
    return "".join(line.decode() + "\n" for line in lines)
