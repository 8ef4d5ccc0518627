"""Charts of `store.charts` on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from store.charts.drawing import Drawing


def draw(drawing: Drawing, *, key: str, text: str) -> None:
    """Draw a chart.

    Args:
        drawing: the chart.
        key: key of the element, unique on the page.
        text: alternative text for readers who cannot see the chart.
    """
    st.vega_lite_chart(spec=drawing.with_rows(), key=key, alt=text)


def selectable(
    drawing: Drawing, *, key: str, text: str, on_select: Callable[[], None] | Literal["rerun"] = "rerun"
) -> Any:
    """Draw a chart whose points can be selected; return the selection.

    Args:
        drawing: the chart.
        key: key of the element, unique on the page.
        text: alternative text for readers who cannot see the chart.
        on_select: callback of a selection; `rerun` only draws the page again.
    """
    return st.vega_lite_chart(spec=drawing.with_rows(), key=key, alt=text, on_select=on_select)
