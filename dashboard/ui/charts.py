"""Charts of `store.charts` on a page, side by side if there are several; a click on a point opens its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.view import View, links
from store.charts.axes import MODEL_FIELDS, PICKED
from store.charts.drawing import Drawing

T = TypeVar("T")


def draw(drawing: Drawing, *, key: str, text: str) -> None:
    """Draw a chart, with a text for readers who cannot see it."""
    st.vega_lite_chart(spec=drawing.with_rows(), key=key, alt=text)


def selectable(
    drawing: Drawing, *, key: str, text: str, on_select: Callable[[], None] | Literal["rerun"] = "rerun"
) -> Any:
    """Draw a chart whose points can be selected; return the selection.

    A selection calls `on_select`; `rerun` only draws the page again.
    """
    return st.vega_lite_chart(spec=drawing.with_rows(), key=key, alt=text, on_select=on_select)


def open_model(view: View, event: Any) -> None:
    """Open the model of the selected point, if the point belongs to a model."""
    for point in event["selection"].get(PICKED) or ():
        if all(point.get(field) for field in MODEL_FIELDS):
            links.go(view, "model", **{field: point[field] for field in MODEL_FIELDS})


def abreast(parts: Iterable[T], most: int = 2) -> Iterator[tuple[DeltaGenerator, T]]:
    """Yield each part with its column; up to `most` parts are side by side, and a single part has the whole width."""
    every = list(parts)
    width = max(1, min(most, len(every)))
    for begin in range(0, len(every), width):
        yield from zip(st.columns(width, gap="medium"), every[begin : begin + width], strict=False)
