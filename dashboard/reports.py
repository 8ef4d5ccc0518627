"""Tables of `xlabench report` on a page: the same numbers, because they are the same objects."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import tables
from dashboard.words import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.report.table import Column, Report, Table


def show(report: Report, *, key: str, file_name: str, sql: Sequence[str | Mapping[str, str]]) -> None:
    """Draw the tables of a report that have rows, then its notes.

    Args:
        report: as `xlabench report` prints it.
        key: of the widgets, unique on the page.
        file_name: of the downloads, without a suffix.
        sql: statement behind each table, or those that it is computed from.
    """
    for number, (table, statement) in enumerate(zip(report.tables, sql, strict=True)):
        if table.rows:
            st.markdown(f"**{escape(table.title)}**")
            _table(table, key=f"{key}-{number}", file_name=file_name, sql=statement)
    st.caption("  \n".join(escape(note) for note in report.notes))


def _table(table: Table, *, key: str, file_name: str, sql: str | Mapping[str, str]) -> None:
    names = _names(table.columns)
    frame = pd.DataFrame(list(table.rows), columns=names)
    columns = {
        name: replace(_column(column, frame[name]), hidden=name in _RARE)
        for name, column in zip(names, table.columns, strict=True)
    }
    tables.show(frame, columns, key=key, alt=table.title, file_name=file_name, sql=sql)


def _names(columns: tuple[Column, ...]) -> list[str]:
    """Return the titles as names of columns, each once: several are called n, after the one before."""
    names: list[str] = []
    for column in columns:
        name = column.title if column.title not in names else f"{column.title} of {names[-1]}"
        names.append(name if name not in names else f"{name} {len(names)}")
    return names


_RARE = ("Mean peak", "n of Mean peak")
"""Names of columns that are in the menu of their table."""
_SHORT = {
    "variant": "Backend",
    "Mean compilation": "Compiling",
    "Mean execution": "Execution",
    "Mean compression": "Memory",
    "Absolute latency": "Latency",
    "Compilation latency": "Compiling",
    "Memory compression": "Memory",
    "Eager latency": "Eager",
}
"""Title of a report's column → shorter words, where the table would be wider than the window."""


def _label(title: str) -> str:
    """Return the head of a column: a word that others use too, short, and beginning as other heads do."""
    inner = title.removeprefix("Speedup(").removesuffix(")") if title.startswith("Speedup(") else title
    short = _SHORT.get(inner, re.sub(r"(?i)^geomean vs ", "vs ", inner))
    return short if len(short) == 1 or short.startswith("vs ") else short[:1].upper() + short[1:]


def _column(column: Column, values: pd.Series) -> tables.Column:
    short = _label(column.title)
    label = f"{short}, {column.unit}" if column.unit not in ("", "x") else short
    told = column.definition if short == column.title else ": ".join(filter(None, (column.title, column.definition)))
    if not column.numeric:
        kind: tables.Kind = "time" if pd.api.types.is_datetime64_any_dtype(values) else "text"
        return tables.Column(label, kind, help=told or None)
    kind = "ratio" if column.unit == "x" else "decimal"
    return tables.Column(label, kind, help=told or None, scale=1.0)
