"""Tables whose rows open the page of a model, by a click on a name or by a button for a selected row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from dashboard.data import TableSource
from dashboard.formatting import escape, shortened
from dashboard.ui import doubts, tables
from dashboard.ui.tables import TableColumn
from dashboard.view import View, links
from store.charts.axes import MODEL_FIELDS


def table(
    view: View,
    frame: pd.DataFrame,
    columns: Mapping[str, TableColumn],
    source: TableSource,
    *,
    key: str,
    alt: str,
    omitted_if_constant: Sequence[str] = (),
) -> pd.DataFrame:
    """Draw a table whose rows are of models, with their doubts; return the selected rows, for actions.

    The name of a row opens its model. A selected row has a button that does so, too, for readers without a mouse.

    Args:
        view: the view.
        frame: the rows, with suite, model and test.
        columns: the columns to show, in order.
        source: name of the downloads, and the SQL behind the rows.
        key: key of the widget, unique on the page.
        alt: alternative text for readers who cannot see the table.
        omitted_if_constant: columns that are left out if all rows have one value.
    """
    if doubts.knows(frame):
        warned = frame if "warned" in frame.columns else doubts.with_warnings(view, frame)
        frame, columns = doubts.marked(warned), _with_doubt(columns)
    position = tables.show(
        frame,
        tables.without_constant(_linked(columns), frame, (*omitted_if_constant, "doubt")),
        source,
        key=key,
        alt=alt,
        on_select="rerun",
    )
    selected, opened = chosen(frame, position, key)
    if opened is not None:
        links.go(view, "model", **{field: opened[field] for field in MODEL_FIELDS})
    return selected


def chosen(frame: pd.DataFrame, position: int | None, key: str) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return the selected rows of a table with links, and the row to open; draw a button to open a selected row."""
    opened = tables.clicked(key)
    selected = frame.iloc[[position]] if position is not None and position < len(frame) else frame.iloc[:0]
    for model, test in zip(selected["model"], selected["test"], strict=True):
        label = f"Open {escape(shortened(model))} {escape(test)}"
        if st.button(label, key=f"{key}-open", icon=":material/arrow_forward:"):
            opened = position
    return selected, frame.iloc[opened] if opened is not None and opened < len(frame) else None


def _linked(columns: Mapping[str, TableColumn]) -> dict[str, TableColumn]:
    """Return the columns with the name of the model, or else of the operator, as a link."""
    name = "model" if "model" in columns else "operator"
    return {**columns, name: replace(columns[name], kind="link")} if name in columns else dict(columns)


def _with_doubt(columns: Mapping[str, TableColumn]) -> dict[str, TableColumn]:
    """Return the columns with that of doubts after the pinned ones."""
    names = {name: column for name, column in columns.items() if column.pinned}
    return names | {"doubt": doubts.COLUMN} | {name: column for name, column in columns.items() if name not in names}
