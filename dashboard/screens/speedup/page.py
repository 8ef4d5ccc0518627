"""The page: its sentences, then one of three charts, then every result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import answers, data, empty, frame
from dashboard.rows import with_series
from dashboard.screens import choosing
from dashboard.screens.speedup import against, curve, dots, sides, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from dashboard.view import View

CHARTS = ("Models", "Distribution", "A against B")
ORDERS = ("Lowest first", "Highest first", "Model name", "Longest latency first")


def show(view: View) -> None:
    """Draw the page."""
    rows = with_series(data.speedups(view.snapshot, view.selection))
    frame.head("Speedup", view, _said(view, rows), len(rows), baseline=True, more="in the charts")
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    parts = dots.parts(sides.compared(rows, view.selection.baseline))
    chart, order, charted = _controls(list(parts)) if parts else ("", ORDERS[0], [])
    ordered = dots.sorted_rows(rows, order)
    if chart == CHARTS[0]:
        dots.show(view, ordered, charted)
    elif chart == CHARTS[1]:
        curve.show(view)
    elif chart == CHARTS[2]:
        against.show(view, rows)
    table.show(view, ordered)


def _controls(parts: Sequence[tuple[str, ...]]) -> tuple[str, str, list[tuple[str, ...]]]:
    """Draw what chooses the chart, the order of models and the part that is charted; return them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chart, order = (
            choosing.segments("Chart", CHARTS, "chart"),
            choosing.segments("Order of models", ORDERS, "order"),
        )
        return chart, order, choosing.charts_of(answers.SUITES, parts) if chart == CHARTS[0] else []


def _said(view: View, rows: pd.DataFrame) -> list[str]:
    """Return the first geometric mean, then who is slower, then the other means."""
    baseline = view.selection.baseline
    means = answers.geomean_sentences(data.geomeans(view.snapshot, view.selection), baseline, rows)
    if not means and len(rows):
        return [answers.no_speedup(rows, baseline)]
    return [*means[:1], *sides.sentences(rows, baseline), *means[1:]]
