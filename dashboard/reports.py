"""Tables of `xlabench report` on a page: the same numbers, because they are the same objects."""

from __future__ import annotations

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
    columns = {name: _column(column, frame[name]) for name, column in zip(names, table.columns, strict=True)}
    tables.show(frame, columns, key=key, alt=table.title, file_name=file_name, sql=sql)


def _names(columns: tuple[Column, ...]) -> list[str]:
    """Return the titles as names of columns, each once: several are called n, after the one before."""
    names: list[str] = []
    for column in columns:
        name = column.title if column.title not in names else f"{column.title} of {names[-1]}"
        names.append(name if name not in names else f"{name} {len(names)}")
    return names


def _column(column: Column, values: pd.Series) -> tables.Column:
    label = f"{column.title}, {column.unit}" if column.unit not in ("", "x") else column.title
    if not column.numeric:
        kind: tables.Kind = "time" if pd.api.types.is_datetime64_any_dtype(values) else "text"
        return tables.Column(label, kind, help=column.definition or None)
    kind = "ratio" if column.unit == "x" else "decimal"
    return tables.Column(label, kind, help=column.definition or None, scale=1.0)
