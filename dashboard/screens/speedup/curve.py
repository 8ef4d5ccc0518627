"""How speedups are distributed: one curve per series, its models from the slowest to the fastest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, downloads
from dashboard.answers import SECTION
from dashboard.charts import curves, drawing
from dashboard.rows import each, sections, with_series
from dashboard.screens import opening, places
from dashboard.words import count, interval, ratio

if TYPE_CHECKING:
    from dashboard.view import View


def show(view: View) -> None:
    """Draw one chart per test and accelerator, all suites together."""
    rows = with_series(data.rows(view.snapshot, "speedup_curve", view.selection))
    st.caption(
        "Each curve has one point per model, from the slowest on. Where it crosses 1 is the share of models that are "
        "slower than the baseline."
    )
    for place, (keys, part) in places.abreast(sections(rows, SECTION)):
        with place:
            _chart(view, keys, part)
    sql = data.statement("speedup_curve", view.selection)
    downloads.below(rows, "curve", view.file_name("speedup-distribution"), sql)


def _chart(view: View, keys: tuple[str, ...], part: pd.DataFrame) -> None:
    st.subheader(answers.section_title(keys), anchor=False)
    picked = drawing.selectable(
        curves.speedup_curve(_points(part), view.selection.baseline),
        key="curve-" + "-".join(keys),
        text=f"Distribution of speedups over {view.selection.baseline}, {' '.join(keys)}",
    )
    opening.from_chart(view, picked)


def _points(part: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": part["model"],
            "suite": part["suite"],
            "test": part["test"],
            "variant": part["series"],
            "backend": part["backend"],
            "value": part["speedup"],
            "share": part["share"],
            "label": [f"{ratio(r.speedup)} ({interval(r.speedup_low, r.speedup_high)})" for r in each(part)],
            "n": [f"{int(row.place)} of {count(int(row.results_n), 'model')}" for row in each(part)],
        }
    )
