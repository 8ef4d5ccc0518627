"""The page: sentences, medians, then dots per model, the first blocks in time or the break-even; then all results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import answers, data, empty, frame
from dashboard.rows import with_series
from dashboard.screens import choosing
from dashboard.screens.compile_time import break_even, dots, medians, table, timeline
from dashboard.screens.compile_time.measures import MEASURES, metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.view import View

CHARTS = ("Models", "First blocks", "Break-even")
_EARNED = 2
"""Sentences that say when compiling pays and that stand before all others."""
_TIMES = ("first_iteration_s", "time_to_steady_s")
"""Differences to a steady iteration, which noise can make negative."""


def show(view: View) -> None:
    """Draw the page."""
    rows = with_series(data.results(view.snapshot, view.selection))
    chosen = metric_of(_value("measure"))
    said, earned = medians.sentences(view, chosen), break_even.sentences(view)
    few = len(earned) if _value("chart") == CHARTS[2] else _EARNED
    frame.head("Compile time", view, [*earned[:few], *said, *earned[few:]], len(rows), baseline=True)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    with st.container(key="medians-of-all"):
        medians.show(view)
        if bool((rows[[*_TIMES]] < 0).any(axis=None)):
            st.caption("A time below 0 is noise: the first blocks took no longer than steady ones.")
    parts = dots.parts(rows, chosen)
    chart, charted = _controls(list(parts))
    if chart == CHARTS[1]:
        timeline.show(view)
    elif chart == CHARTS[2]:
        break_even.show(view)
    else:
        dots.show(view, rows, chosen, {keys: parts[keys] for keys in charted})
    table.show(view, rows)


def _controls(parts: Sequence[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]]:
    """Draw the choice of a chart, and where it has them of a measure and of the part that is charted; return both."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chart = choosing.segments("Chart", CHARTS, "chart")
        if chart != CHARTS[0]:
            return chart, []
        choosing.segments("Measure", list(MEASURES), "measure")
        return chart, choosing.charts_of(answers.SUITES, parts) if parts else []


def _value(key: str) -> str | None:
    """Return the value in use of a widget that stands below the sentences which depend on it."""
    return st.session_state.get(key) or st.query_params.get(key)
