"""Models by backends as dots with intervals on a log axis; a click on a dot opens the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data
from dashboard.charts import ratios
from dashboard.charts.axes import GEOMEAN
from dashboard.rows import each, sections, with_series
from dashboard.screens import opening
from dashboard.settings import CHART_MODELS
from dashboard.words import count, interval, ratio

if TYPE_CHECKING:
    from dashboard.view import View

_MS_PER_S = 1000


def show(view: View, drawn: pd.DataFrame, order: str) -> None:
    """Draw one chart per test, accelerator and suite."""
    baseline = view.selection.baseline
    means = with_series(answers.compared(data.geomeans(view.snapshot, view.selection), baseline))
    for keys, part in sections(drawn, ["test", "accelerator", "suite"]):
        mine = (means["test"] == keys[0]) & (means["accelerator"] == keys[1]) & (means["suite"] == keys[2])
        _chart(view, keys, part, means[mine & means["geomean"].notna()], order)


def sorted_rows(rows: pd.DataFrame, order: str) -> pd.DataFrame:
    """Return the rows in the chosen order of models; those without a speedup last."""
    if order == "Model name":
        return rows.sort_values(["model", "test", "series"], key=lambda column: column.astype(str).str.lower())
    column, ascending = _KEYS[order]
    return rows.sort_values([column, "model", "series"], ascending=[ascending, True, True], na_position="last")


_KEYS = {
    "Lowest first": ("speedup", True),
    "Highest first": ("speedup", False),
    "Longest latency first": ("latency_s", False),
}


def _chart(view: View, keys: tuple[str, ...], part: pd.DataFrame, means: pd.DataFrame, order: str) -> None:
    """Draw one suite of one test and accelerator, the geometric mean on top."""
    baseline = view.selection.baseline
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(dict.fromkeys(sorted_rows(part, order)["model"]))
    if len(models) > CHART_MODELS:
        st.caption(f"The first {CHART_MODELS} of {count(len(models), 'model')} in this order; the table has all.")
        models = models[:CHART_MODELS]
    points = pd.concat([_means(means), _points(part[part["model"].isin(models)])], ignore_index=True)
    picked = st.altair_chart(
        ratios.ratio_dots(points, [GEOMEAN, *models], baseline),
        key="ratios-" + "-".join(keys),
        on_select="rerun",
        alt=f"Speedup over {baseline} by model, {' '.join(keys)}",
    )
    opening.from_chart(view, picked)
    if not points["certain"].all():
        st.caption(
            "A hollow mark has no 95 % interval: under 6 samples on one side, a mean of fewer than three models, or a "
            "baseline on another device."
        )


def _points(part: pd.DataFrame) -> pd.DataFrame:
    every = list(each(part))
    return pd.DataFrame(
        {
            "model": [row.model for row in every],
            "suite": [row.suite for row in every],
            "test": [row.test for row in every],
            "variant": [row.series for row in every],
            "backend": [row.backend for row in every],
            "value": [row.speedup for row in every],
            "low": [row.speedup_low for row in every],
            "high": [row.speedup_high for row in every],
            "certain": [not pd.isna(row.speedup_low) for row in every],
            "label": [_label(row.speedup, row.speedup_low, row.speedup_high) for row in every],
            "latency_ms": [row.latency_s * _MS_PER_S for row in every],
            "baseline_ms": [row.baseline_latency_s * _MS_PER_S for row in every],
            "n": [f"{int(row.steady_n)} against {int(row.baseline_steady_n)} samples" for row in every],
        }
    )


def _means(means: pd.DataFrame) -> pd.DataFrame:
    every = list(each(means))
    return pd.DataFrame(
        {
            "model": [GEOMEAN for _ in every],
            "variant": [row.series for row in every],
            "backend": [row.backend for row in every],
            "value": [row.geomean for row in every],
            "low": [row.geomean_low for row in every],
            "high": [row.geomean_high for row in every],
            "certain": [not pd.isna(row.geomean_low) for row in every],
            "label": [_label(row.geomean, row.geomean_low, row.geomean_high) for row in every],
            "n": [count(int(row.n), "model") for row in every],
        }
    )


def _label(value: float, low: float, high: float) -> str:
    return f"{ratio(value)} ({interval(low, high)})"
