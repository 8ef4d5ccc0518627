"""Tables: words and units of the columns, a dash for what is missing, and the same rows as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pandas as pd
import streamlit as st

from dashboard.palette import status_colour
from dashboard.settings import LAZY_ROWS
from dashboard.words import DASH, STATUS_WORDS, TIMES, count
from store.metrics import metric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamlit.elements.lib.column_types import ColumnConfig

Kind = Literal["text", "ratio", "ms", "seconds", "number", "decimal", "time"]

_FORMATS: dict[str, str] = {"ratio": f"%.2f{TIMES}", "ms": "%.3f", "seconds": "%.3f", "number": "%d", "decimal": "%.4g"}
_KINDS: dict[str, Kind] = {"x": "ratio", TIMES: "ratio", "ms": "ms", "s": "seconds"}
_MS_PER_S = 1000.0
_ROWS_WHOLE = 15
_MOST_PX = 560


@dataclass(frozen=True)
class Column:
    """How one column of a query is shown."""

    label: str
    kind: Kind = "text"
    help: str | None = None
    pinned: bool = False
    width: Literal["small", "medium", "large"] | int | None = None


def measured(name: str, label: str | None = None, note: str = "", width: int | None = None) -> Column:
    """Return the column of a metric: label, unit and definition are the registry's.

    Args:
        name: the metric.
        label: shorter words for a narrow column; the unit is added.
        note: what the page adds to the definition.
        width: pixels.
    """
    known = metric(name)
    unit = known.display_unit or known.unit
    kind = _KINDS.get(unit, "number")
    words = label or known.label
    header = words if not unit or kind == "ratio" else f"{words}, {unit}"
    return Column(header, kind, help=" ".join(filter(None, (known.definition, note))), width=width)


def show(
    frame: pd.DataFrame, columns: Mapping[str, Column], *, key: str, alt: str, file_name: str, whole: bool = False
) -> None:
    """Draw the frame's named columns as a sortable table with a CSV of the same rows under it.

    The CSV has the names and units of the store's columns, every digit, and all rows.
    """
    shown = [name for name in columns if name in frame.columns]
    st.dataframe(
        display(frame, {name: columns[name] for name in shown}),
        column_config={name: _config(columns[name]) for name in shown},
        hide_index=True,
        placeholder=DASH,
        height="content" if whole else table_height(len(frame)),
        lazy=len(frame) > LAZY_ROWS,
        key=key,
        alt=alt,
    )
    _download(frame[shown], key, file_name)


def show_selectable(
    frame: pd.DataFrame,
    columns: Mapping[str, Column],
    *,
    key: str,
    alt: str,
    file_name: str,
    on_select: Callable[[], None] | Literal["rerun"] = "rerun",
) -> int | None:
    """Draw the table so that one row can be selected; return its position.

    A table that loads rows as one scrolls cannot select: it is cut, and the CSV still has all rows.
    """
    shown = [name for name in columns if name in frame.columns]
    first = frame.head(LAZY_ROWS)
    if len(frame) > LAZY_ROWS:
        st.caption(f"The first {LAZY_ROWS:,} of {count(len(frame), 'row')}; filter for others.")
    state = st.dataframe(
        display(first, {name: columns[name] for name in shown}),
        column_config={name: _config(columns[name]) for name in shown},
        hide_index=True,
        placeholder=DASH,
        height=table_height(len(first)),
        on_select=on_select,
        selection_mode="single-row",
        key=key,
        alt=alt,
    )
    _download(frame[shown], key, file_name)
    picked = state["selection"]["rows"]
    return int(picked[0]) if picked else None


def show_statuses(frame: pd.DataFrame, columns: Mapping[str, Column], *, key: str, alt: str) -> None:
    """Draw a matrix of statuses in the colours of palette."""
    shown = [name for name in columns if name in frame.columns]
    words = {word: status_colour(status) for status, word in STATUS_WORDS.items()}
    styled = frame[shown].style.map(lambda word: f"color: {words[word]}" if word in words and word != "ok" else "")
    st.dataframe(
        styled,
        column_config={name: _config(columns[name]) for name in shown},
        hide_index=True,
        placeholder=DASH,
        height=table_height(len(frame)),
        key=key,
        alt=alt,
    )


def display(frame: pd.DataFrame, columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return the frame in the units that are shown: milliseconds where the column says so."""
    result = frame[list(columns)].copy()
    for name, column in columns.items():
        if column.kind == "ms":
            result[name] = pd.to_numeric(result[name]) * _MS_PER_S
        elif column.kind in _FORMATS:
            result[name] = pd.to_numeric(result[name])
    return result


def table_height(rows: int) -> int | Literal["content"]:
    """Return the height that shows all rows of a short table, and a screenful of a long one."""
    return "content" if rows <= _ROWS_WHOLE else _MOST_PX


def without_constant(columns: Mapping[str, Column], frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Column]:
    """Drop those of the named columns that say the same in every row."""
    same = {name for name in names if name in frame.columns and len(frame[name].unique()) <= 1}
    return {name: column for name, column in columns.items() if name not in same}


def _config(column: Column) -> ColumnConfig:
    if column.kind in _FORMATS:
        return st.column_config.NumberColumn(
            column.label, help=column.help, format=_FORMATS[column.kind], pinned=column.pinned, width=column.width
        )
    if column.kind == "time":
        return st.column_config.DatetimeColumn(
            column.label, help=column.help, format="YYYY-MM-DD HH:mm", pinned=column.pinned, width=column.width
        )
    return st.column_config.TextColumn(column.label, help=column.help, pinned=column.pinned, width=column.width)


def _download(frame: pd.DataFrame, key: str, file_name: str) -> None:
    def build() -> bytes:
        return frame.to_csv(index=False).encode()

    st.download_button(
        f"CSV, {count(len(frame), 'row')}",
        data=build,
        file_name=file_name,
        mime="text/csv",
        key=f"{key}-csv",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
        help="The rows of this table with the store's column names, in seconds, with every digit.",
    )
