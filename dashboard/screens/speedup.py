"""Speedup: each model's ratio over the baseline, with its interval and the latency that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.charts import ratios
from dashboard.charts.axes import GEOMEAN
from dashboard.rows import each, sections, with_series
from dashboard.settings import CHART_MODELS
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, count, interval, ratio
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

ORDERS = ("Lowest first", "Highest first", "Model name", "Longest latency first")
_MS_PER_S = 1000
_BASELINE = "this is the baseline"


def show(view: View) -> None:
    """Draw the page."""
    rows = data.speedups(view.snapshot, view.selection)
    baseline = view.selection.baseline
    means = data.geomeans(view.snapshot, view.selection)
    said = answers.geomean_sentences(means, baseline)
    if not said and len(rows):
        said = [answers.no_speedup(rows, baseline)]
    frame.head("Speedup", view, said, len(rows), baseline=True, more="in the charts")
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    rows = with_series(rows)
    drawn = answers.compared(rows[rows["speedup"].notna() & (rows["speedup"] > 0)], baseline)
    if len(drawn):
        order = st.segmented_control(
            "Order of models", ORDERS, default=ORDERS[0], required=True, key="order", bind="query-params"
        )
        means = with_series(answers.compared(means, baseline))
        for keys, part in sections(drawn, ["test", "accelerator", "suite"]):
            mine = (means["test"] == keys[0]) & (means["accelerator"] == keys[1]) & (means["suite"] == keys[2])
            _chart(keys, part, means[mine & means["geomean"].notna()], baseline, order or ORDERS[0])
    _table(view, rows)


def _chart(keys: tuple[str, ...], part: pd.DataFrame, means: pd.DataFrame, baseline: str, order: str) -> None:
    """Draw one suite of one test and accelerator, the geometric mean on top."""
    st.subheader(answers.section_title(keys), anchor=False)
    models = _ordered(part, order)
    if len(models) > CHART_MODELS:
        st.caption(f"The first {CHART_MODELS} of {count(len(models), 'model')} in this order; the table has all.")
        models = models[:CHART_MODELS]
    points = pd.concat([_means(means), _points(part[part["model"].isin(models)])], ignore_index=True)
    st.altair_chart(
        ratios.ratio_dots(points, [GEOMEAN, *models], baseline),
        key="ratios-" + "-".join(keys),
        alt=f"Speedup over {baseline} by model, {' '.join(keys)}",
    )
    if not points["certain"].all():
        st.caption(
            "A hollow mark has no 95 % interval: under 6 samples on one side, or a mean of fewer than three models."
        )


def _ordered(part: pd.DataFrame, order: str) -> list[str]:
    by_model = part.groupby("model")
    if order == "Longest latency first":
        return [str(name) for name in by_model["latency_s"].max().sort_values(ascending=False).index]
    if order == "Highest first":
        return [str(name) for name in by_model["speedup"].max().sort_values(ascending=False).index]
    if order == "Lowest first":
        return [str(name) for name in by_model["speedup"].min().sort_values().index]
    return sorted(part["model"].unique(), key=str.lower)


def _points(part: pd.DataFrame) -> pd.DataFrame:
    every = list(each(part))
    return pd.DataFrame(
        {
            "model": [row.model for row in every],
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


def _table(view: View, rows: pd.DataFrame) -> None:
    st.subheader("All results", anchor=False)
    listed = rows.assign(
        status=[STATUS_WORDS.get(status, status) for status in rows["status"]],
        interval=[interval(row.speedup_low, row.speedup_high) for row in each(rows)],
        speedup_reason=[
            _BASELINE if row.speedup == 1 and row.record_id == row.baseline_record_id else row.speedup_reason
            for row in each(rows)
        ],
    )
    columns = tables.without_constant(_columns(view), listed, ["dtype", "accelerator", "suite"])
    tables.show(
        listed, columns, key="speedups", alt="Speedup and latency of each result", file_name=view.file_name("speedup")
    )


def _columns(view: View) -> dict[str, Column]:
    return {
        "model": Column("Model", pinned=True),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "test": Column("Test"),
        "suite": Column("Suite"),
        "accelerator": Column("Accelerator"),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": Column("95 %", help="Interval of the speedup; needs 6 samples on both sides."),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help=metric("steady_n").definition),
        "baseline_latency_s": measured("baseline_latency_s", "Baseline", f"Baseline: {view.baseline_text}."),
        "baseline_steady_n": Column("n of it", "number", help=metric("baseline_steady_n").definition),
        "status": Column("Status", width=95),
        "speedup_reason": Column("Note", width=280, help="Why there is no speedup."),
        "dtype": Column("Dtype"),
        "batch_size": Column("Batch size", "number"),
    }
