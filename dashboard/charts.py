"""Charts of `store.charts` on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from store.charts.drawing import Drawing


def draw(drawing: Drawing, *, key: str, text: str) -> None:
    """Draw it.

    Args:
        drawing: what.
        key: of the element, unique on the page.
        text: what a reader who cannot see it is told.
    """
    st.vega_lite_chart(spec=drawing.with_rows(), key=key, alt=text)


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
    return st.vega_lite_chart(spec=drawing.with_rows(), key=key, alt=text, on_select=on_select)
