"""Speedup: each model's ratio over the baseline, with its interval and the latency that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.charts import ratios
from dashboard.rows import each, sections
from dashboard.settings import CHART_MODELS
from dashboard.tables import Column
from dashboard.words import STATUS_WORDS, count, escape, interval, ratio

if TYPE_CHECKING:
    from dashboard.view import View

_ORDERS = ("Lowest speedup first", "Highest speedup first", "Model name", "Longest latency first")


def show(view: View) -> None:
    """Draw the page."""
    rows = data.rows(view.snapshot, "speedups", view.selection)
    baseline = view.selection.baseline
    sentences = answers.speedup_sentences(rows, baseline) if len(rows) else []
    if len(rows) and not sentences:
        sentences = [f"No speedup over **{escape(baseline)}** can be computed: {_main_reason(rows)}"]
    frame.head("Speedup", view, sentences, len(rows), baseline=True)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    order = st.segmented_control(
        "Order of models",
        _ORDERS,
        default=_ORDERS[0],
        required=True,
        key="order",
        bind="query-params",
        persist_state="session",
    )
    drawn = rows[(rows["variant"] != baseline) & rows["speedup"].notna() & (rows["speedup"] > 0)]
    for keys, part in sections(drawn, ["test", "accelerator", "suite"]):
        _chart(keys, part, baseline, order or _ORDERS[0])
    _table(view, rows)


def _main_reason(rows: pd.DataFrame) -> str:
    reasons = rows["speedup_reason"].dropna().value_counts()
    return escape(reasons.index[0]) if len(reasons) else "no result ran"


def _chart(keys: tuple[str, ...], part: pd.DataFrame, baseline: str, order: str) -> None:
    """Draw one suite of one test and accelerator, the geometric mean on top."""
    st.subheader(answers.section_title(keys), anchor=False)
    models = _ordered(part, order)
    if len(models) > CHART_MODELS:
        st.caption(f"The first {CHART_MODELS} of {count(len(models), 'model')} in this order; the table has all.")
        models = models[:CHART_MODELS]
    points = pd.concat([_means(part), _points(part[part["model"].isin(models)])], ignore_index=True)
    st.altair_chart(
        ratios.ratio_dots(points, [ratios.GEOMEAN, *models], baseline),
        key="ratios-" + "-".join(keys),
        alt=f"Speedup over {baseline} by model, {' '.join(keys)}",
    )
    only = points[~points["certain"]]
    if len(only):
        st.caption("A hollow mark has no 95 % interval: one side has under 6 samples, or there is one model only.")


def _ordered(part: pd.DataFrame, order: str) -> list[str]:
    by_model = part.groupby("model")
    if order == "Model name":
        return sorted(part["model"].unique(), key=str.lower)
    if order == "Longest latency first":
        return list(by_model["latency_s"].max().sort_values(ascending=False).index)
    if order == "Highest speedup first":
        return list(by_model["speedup"].max().sort_values(ascending=False).index)
    return list(by_model["speedup"].min().sort_values().index)


def _points(part: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": part["model"],
            "variant": part["variant"],
            "backend": part["backend"],
            "value": part["speedup"],
            "low": part["speedup_low"],
            "high": part["speedup_high"],
            "certain": part["speedup_low"].notna(),
            "label": [_label(row.speedup, row.speedup_low, row.speedup_high) for row in each(part)],
            "latency_ms": part["latency_s"] * 1000,
            "baseline_ms": part["baseline_latency_s"] * 1000,
            "n": [f"{int(row.steady_n)} against {int(row.baseline_steady_n)} samples" for row in each(part)],
        }
    )


def _means(part: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (variant, backend), group in part.groupby(["variant", "backend"], sort=True):
        mean = answers.mean_of(group["speedup"])
        rows.append(
            {
                "model": ratios.GEOMEAN,
                "variant": variant,
                "backend": backend,
                "value": mean.value,
                "low": mean.low,
                "high": mean.high,
                "certain": mean.low is not None,
                "label": _label(mean.value, mean.low, mean.high),
                "n": count(mean.n, "model"),
            }
        )
    return pd.DataFrame(rows)


def _label(value: float | None, low: float | None, high: float | None) -> str:
    return f"{ratio(value)} ({interval(low, high)})"


def _table(view: View, rows: pd.DataFrame) -> None:
    st.subheader("All results", anchor=False)
    listed = rows.copy()
    listed["status"] = [STATUS_WORDS.get(status, status) for status in rows["status"]]
    listed["interval"] = [interval(row.speedup_low, row.speedup_high) for row in each(rows)]
    columns = tables.without_constant(_columns(view), listed, ["environment", "dtype", "accelerator", "suite"])
    tables.show(
        listed, columns, key="speedups", alt="Speedup and latency of each result", file_name=view.file_name("speedup")
    )


def _columns(view: View) -> dict[str, Column]:
    baseline = view.selection.baseline
    return {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend", help="Backend plus every compile setting that is not default."),
        "environment": Column("Environment"),
        "speedup": Column("Speedup", "ratio", help=f"Latency of {view.baseline_text} divided by this latency."),
        "interval": Column("95 % interval", help="Needs 6 samples on both sides."),
        "latency_s": Column("Latency, ms", "ms", help="Median of the steady blocks, per iteration."),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "baseline_latency_s": Column(f"{baseline}, ms", "ms", help=f"Latency of the baseline ({view.baseline_text})."),
        "baseline_steady_n": Column("Baseline n", "number", help="Steady samples behind the baseline's latency."),
        "status": Column("Status"),
        "speedup_reason": Column("Why no speedup", width="large"),
        "dtype": Column("Dtype"),
        "batch_size": Column("Batch size", "number"),
    }
