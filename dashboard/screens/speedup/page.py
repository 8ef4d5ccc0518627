"""The page: its sentences, then one of three charts, then every result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import answers, data, empty, frame
from dashboard.answers import SECTION
from dashboard.rows import each, sections, with_series
from dashboard.screens import choosing
from dashboard.screens.speedup import against, curve, dots, table
from dashboard.words import count, escape, listed, ratio

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

CHARTS = ("Models", "Distribution", "A against B")
ORDERS = ("Lowest first", "Highest first", "Model name", "Longest latency first")
_NAMED = 3


def show(view: View) -> None:
    """Draw the page."""
    rows = data.speedups(view.snapshot, view.selection)
    frame.head("Speedup", view, _said(view, rows), len(rows), baseline=True, more="in the charts")
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    rows = with_series(rows)
    order = _controls_and_charts(view, rows)
    table.show(view, dots.sorted_rows(rows, order))


def _controls_and_charts(view: View, rows: pd.DataFrame) -> str:
    """Draw what chooses a chart, then the chart; return the order of models."""
    drawn = answers.compared(rows[rows["speedup"].notna() & (rows["speedup"] > 0)], view.selection.baseline)
    if drawn.empty:
        return ORDERS[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chart = choosing.segments("Chart", CHARTS, "chart")
        order = choosing.segments("Order of models", ORDERS, "order")
    if chart == CHARTS[1]:
        curve.show(view)
    elif chart == CHARTS[2]:
        against.show(view, rows)
    else:
        dots.show(view, drawn, order)
    return order


def _said(view: View, rows: pd.DataFrame) -> list[str]:
    """Return the first geometric mean, then who is slower, then the other means."""
    baseline = view.selection.baseline
    means = answers.geomean_sentences(data.geomeans(view.snapshot, view.selection), baseline)
    if not means and len(rows):
        return [answers.no_speedup(rows, baseline)]
    sides = data.rows(view.snapshot, "speedup_sides", view.selection)
    return [*means[:1], *_slower(sides, baseline), *means[1:]]


def _slower(sides: pd.DataFrame, baseline: str) -> list[str]:
    """Return for each test, accelerator and XLA series on which models it is slower than the baseline."""
    if sides.empty:
        return []
    found = with_series(sides)
    xla = found[found["backend"].str.startswith("openxla")]
    shown = xla if len(xla) else found
    return [_sentence(keys, row, baseline) for keys, part in sections(shown, SECTION) for row in each(part)]


def _sentence(keys: tuple[str, ...], row: Any, baseline: str) -> str:
    place = f"{keys[0]} on {keys[1]}"
    worst = [
        f"{escape(model)} {ratio(value)}" for model, value in zip(row.slower_models, row.slower_speedups, strict=True)
    ]
    named = f" ({listed(worst, _NAMED)})" if worst else ""
    others = [f"faster on {int(row.faster_n)}"]
    if row.between_n:
        others.append(f"no difference seen on {int(row.between_n)}")
    if row.without_interval_n:
        others.append(f"{int(row.without_interval_n)} without interval")
    return (
        f"In {escape(place)} **{escape(row.series)}** is slower than {escape(baseline)} on "
        f"**{int(row.slower_n)} of {count(int(row.results_n), 'model')}**{named}, {', '.join(others)}"
    )
