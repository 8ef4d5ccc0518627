"""A clicked point or name opens its model; a selected row offers that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from dashboard import doubts, links, tables
from dashboard.words import escape, shortened
from store.charts.axes import MODEL_FIELDS, PICKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from dashboard.tables import TableColumn
    from dashboard.view import View


def from_chart(view: View, event: Any) -> None:
    """Open the model of the selected point, if one is selected; a point that is no model opens nothing."""
    for point in event["selection"].get(PICKED) or ():
        if all(point.get(field) for field in MODEL_FIELDS):
            links.go(view, "model", **{field: point[field] for field in MODEL_FIELDS})


def table(
    view: View,
    frame: pd.DataFrame,
    columns: Mapping[str, TableColumn],
    *,
    key: str,
    alt: str,
    file_name: str,
    sql: str,
    told_once: Sequence[str] = (),
) -> pd.DataFrame:
    """Draw rows that each are of one model, with what speaks against each; return the selected ones, for actions.

    The name of a row opens its model. A selected row has a button that does so, too, for readers without a mouse.

    Args:
        view: what is shown.
        frame: the rows, with suite, model and test.
        columns: those to show, in order.
        key: of the widget, unique on the page.
        alt: what a reader who cannot see it is told.
        file_name: what the files hold, for their name.
        sql: statement behind the rows.
        told_once: columns that are left out where they say the same in every row.
    """
    if doubts.knows(frame):
        frame, columns = doubts.marked(frame), _with_doubt(columns)
    picked = tables.show(
        frame,
        tables.without_constant(_linked(columns), frame, (*told_once, "doubt")),
        key=key,
        alt=alt,
        file_name=view.file_name(file_name),
        sql=sql,
        on_select="rerun",
    )
    selected, opened = chosen(frame, picked, key)
    if opened is not None:
        links.go(view, "model", **{field: opened[field] for field in MODEL_FIELDS})
    return selected


def chosen(frame: pd.DataFrame, picked: int | None, key: str) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return the selected rows of a table whose names are links, and the row to open; offer to open a selected one.

    Args:
        frame: the rows, with model and test.
        picked: position of the selected row.
        key: of the table.
    """
    opened = tables.clicked(key)
    selected = frame.iloc[[picked]] if picked is not None and picked < len(frame) else frame.iloc[:0]
    for model, test in zip(selected["model"], selected["test"], strict=True):
        label = f"Open {escape(shortened(model))} {escape(test)}"
        if st.button(label, key=f"{key}-open", icon=":material/arrow_forward:"):
            opened = picked
    return selected, frame.iloc[opened] if opened is not None and opened < len(frame) else None


def _linked(columns: Mapping[str, TableColumn]) -> dict[str, TableColumn]:
    """Return the columns with the name of the model, or else of the operator, as a link."""
    name = "model" if "model" in columns else "operator"
    return {**columns, name: replace(columns[name], kind="link")} if name in columns else dict(columns)


def _with_doubt(columns: Mapping[str, TableColumn]) -> dict[str, TableColumn]:
    """Return the columns with that of doubts after those that name a row."""
    names = {name: column for name, column in columns.items() if column.pinned}
    return names | {"doubt": doubts.COLUMN} | {name: column for name, column in columns.items() if name not in names}


T = TypeVar("T")


def abreast(parts: Iterable[T], most: int = 2) -> Iterator[tuple[DeltaGenerator, T]]:
    """Yield each part with its place; as many as fit stand side by side, one alone has the whole width."""
    every = list(parts)
    width = max(1, min(most, len(every)))
    for begin in range(0, len(every), width):
        yield from zip(st.columns(width, gap="medium"), every[begin : begin + width], strict=False)
