"""Charts whose specification says nothing of their data, but its shape.

It is made once for each shape, and a browser that has drawn one only takes the new data: a change of a filter makes a
chart of the same axes and series with other rows, and making the specification took most of the time of such a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import altair as alt
import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

_POINTS = "points"
_EVENTS = "events"


class Drawing(NamedTuple):
    """A specification (`specified`, kept by its caller) and the rows that its layers read."""

    spec: Mapping[str, Any]
    rows: pd.DataFrame
    events: pd.DataFrame | None = None
    """Those of layers over `events`, if it has such."""


def points() -> alt.Chart:
    """Return a chart over the rows of its drawing, to be given marks and encodings."""
    return alt.Chart(alt.NamedData(_POINTS))


def events() -> alt.Chart:
    """Return a chart over the events of its drawing."""
    return alt.Chart(alt.NamedData(_EVENTS))


def single(value: int) -> alt.Chart:
    """Return a chart over one row with a `value`, the same in each drawing."""
    return alt.Chart(alt.sequence(value, value + 1, as_="value"))


def specified(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the specification of a chart as wide as its place, and as high as its steps or its number of pixels.

    With steps the axes come to the height, in pixels they are within it.
    """
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)  # altair's own theme; the dashboard's is added where it is drawn
    kind = "fit" if isinstance(spec["height"], int) else "fit-x"
    return spec | {"autosize": {"type": kind, "contains": "padding"}}


def draw(drawing: Drawing, *, key: str, text: str) -> None:
    """Draw it.

    Args:
        drawing: what.
        key: of the element, unique on the page.
        text: what a reader who cannot see it is told.
    """
    st.vega_lite_chart(spec=_with_rows(drawing), key=key, alt=text)


def selectable(
    drawing: Drawing, *, key: str, text: str, on_select: Callable[[], None] | Literal["rerun"] = "rerun"
) -> Any:
    """Draw it with points that can be selected; return the selection.

    Args:
        drawing: what.
        key: of the element, unique on the page.
        text: what a reader who cannot see it is told.
        on_select: what a selection does beside drawing the page anew.
    """
    return st.vega_lite_chart(spec=_with_rows(drawing), key=key, alt=text, on_select=on_select)


def pairs(frame: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Return variant and backend of each series, sorted: part of the shape."""
    return tuple(sorted(set(zip(frame["variant"], frame["backend"], strict=True))))


def placed(frame: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Add column `place` of `model` in an order."""
    places = {model: place for place, model in enumerate(order)}
    return frame.assign(place=[places[model] for model in frame["model"]])


def _with_rows(drawing: Drawing) -> dict[str, Any]:
    events = {} if drawing.events is None else {_EVENTS: drawing.events}
    return {**drawing.spec, "datasets": {_POINTS: drawing.rows, **events}}
