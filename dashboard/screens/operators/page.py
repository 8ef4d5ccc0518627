"""The page: its sentences, a chart of times or rates, every operator, and what those of a model take together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, empty, frame
from dashboard.rows import with_series
from dashboard.screens import choosing
from dashboard.screens.operators import dots, of_model, other_pages, rates, sentences, table

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

KEY = "operator"
"""URL parameter of the operator that is looked at."""
CHARTS = ("Times", "Against bytes", "Against FLOP")
ALONE = (
    "A ratio of single operators says nothing about a model: there the compiler fuses an operator with its neighbours, "
    "and here it cannot. Where operators lose, the model may win; Speedup has the models."
)


def show(view: View) -> None:
    """Draw the page."""
    every = data.rows(view.snapshot, "operators", view.selection.unfiltered(), named=None)
    known = tuple(sorted(every["operator"].unique(), key=str.lower))
    operator = choosing.requested_name(known, KEY, "this run has no such operator:")
    rows = _with_series(data.rows(view.snapshot, "operators", view.selection, named=operator))
    frame.head(
        "Operators", view, sentences.speedup_sentences(view, rows), len(rows), baseline=True, more="in the table"
    )
    if every.empty:
        other_pages.none_here(view)
        return
    with st.container(key="caveat"):
        st.caption(f":material/info: {ALONE}")
    drawn = bool(rows["latency_s"].notna().any())
    chart = _choose(known, drawn=drawn)
    if operator:
        other_pages.fallbacks(view, operator)
    if rows.empty:
        empty.no_rows(view.selection, "operators")
        return
    if drawn and chart == CHARTS[0]:
        dots.show(view, rows)
    elif drawn:
        rates.show(rows, "input_bytes" if chart == CHARTS[1] else "flops")
    table.show(view, rows, operator)
    of_model.show(view, rows, operator)


def _with_series(rows: pd.DataFrame) -> pd.DataFrame:
    """Add column `series`; the data type is part of the call here, which has a row of its own."""
    return rows.assign(series=with_series(rows.drop(columns="dtype"))["series"])


def _choose(known: tuple[str, ...], *, drawn: bool) -> str:
    """Draw the choice of an operator, the way back to all, and the choice of a chart, where there is one."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choosing.one_of("Operator", known, KEY, "All operators")
        return choosing.segments("Chart", CHARTS, "chart") if drawn else CHARTS[0]
