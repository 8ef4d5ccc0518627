"""Tables of `xlabench report` on a page: the same numbers, because they are the same objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import tables
from dashboard.words import escape

if TYPE_CHECKING:
    from store.report.table import Column, Report, Table


def show(report: Report, *, key: str, file_name: str, sql: str | None = None) -> None:
    """Draw the tables of a report that have rows, then its notes."""
    for number, table in enumerate(table for table in report.tables if table.rows):
        st.markdown(f"**{escape(table.title)}**")
        _table(table, key=f"{key}-{number}", file_name=file_name, sql=sql)
    st.caption("  \n".join(escape(note) for note in report.notes))


def _table(table: Table, *, key: str, file_name: str, sql: str | None) -> None:
    names = _names(table.columns)
    frame = pd.DataFrame(list(table.rows), columns=names)
    columns = {name: _column(column) for name, column in zip(names, table.columns, strict=True)}
    tables.show(frame, columns, key=key, alt=table.title, file_name=file_name, sql=sql)


def _names(columns: tuple[Column, ...]) -> list[str]:
    """Return the titles as names of columns, each once: several are called n, after the one before."""
    names: list[str] = []
    for column in columns:
        name = column.title if column.title not in names else f"{column.title} of {names[-1]}"
        names.append(name if name not in names else f"{name} {len(names)}")
    return names


def _column(column: Column) -> tables.Column:
    kind: tables.Kind = ("decimal" if column.digits else "number") if column.numeric else "text"
    if column.numeric and column.title == "n":
        kind = "number"
    label = f"{column.title}, {column.unit}" if column.unit else column.title
    return tables.Column(label, kind, help=column.definition or None, scale=1.0)
