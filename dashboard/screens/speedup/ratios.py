"""Speedups of all models as dots with intervals on a log axis, and how they are distributed; a click opens a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, most_first, sections, unit, with_series
from dashboard.formatting import count, interval, missing, ratio
from dashboard.settings import CHART_MODELS
from dashboard.ui import answers, charts, doubts, downloads
from dashboard.ui.answers import SECTION
from dashboard.view import View
from store.charts import axes, drawing, palette
from store.charts.axes import GEOMEAN
from store.charts.drawing import Drawing, layered
from store.charts.ratios import ratio_dots

_MS_PER_S = 1000


def show_models(view: View, ordered: pd.DataFrame, charted: Sequence[tuple[str, ...]]) -> None:
    """Draw the chart of each chosen test, accelerator and suite; models are in the order of the rows."""
    baseline = view.selection.baseline
    means = with_series(answers.compared(data.rows(view.snapshot, "geomeans", view.selection), baseline))
    tops = parts([row for row in iter_rows(means) if not missing(row.geomean) and row.n > 1])
    rows_of = parts(over_baseline(ordered, baseline))
    for keys in charted:
        _models_chart(view, keys, rows_of[keys], tops.get(keys, []))


def over_baseline(rows: pd.DataFrame, baseline: str) -> list[Any]:
    """Return the rows with a speedup, except the baseline's own: compared with itself in one run, it is always 1."""
    return [
        row
        for row in iter_rows(rows)
        if row.speedup > 0 and not (row.variant == baseline and row.baseline_run_id == row.run_id)
    ]


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


def parts(rows: list[Any]) -> dict[tuple[str, ...], list[Any]]:
    """Return rows by test, accelerator and suite; the group with most rows is first."""
    by_suite: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        by_suite.setdefault((row.test, row.accelerator, row.suite), []).append(row)
    return most_first(by_suite)


def _models_chart(view: View, keys: tuple[str, ...], part: list[Any], means: list[Any]) -> None:
    """Draw one suite of one test and accelerator, the geometric mean on top."""
    baseline = view.selection.baseline
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(dict.fromkeys(row.model for row in part))
    if len(models) > CHART_MODELS:
        every = count(len(models), unit([keys[2]]))
        st.caption(f"The first {CHART_MODELS} of {every} in this order; the table has all.")
        models = models[:CHART_MODELS]
    charted = set(models)
    shown = [row for row in part if row.model in charted]
    points = pd.DataFrame([*map(_mean, means), *map(_point, shown)], columns=_COLUMNS)
    points["doubt"] = [*[""] * len(means), *doubts.on_points(shown)]
    selected = charts.selectable(
        ratio_dots(points, [*([GEOMEAN] if means else []), *models], f"Speedup over {baseline}"),
        key="ratios-" + "-".join(keys),
        text=f"Speedup over {baseline} by model, {' '.join(keys)}",
    )
    charts.open_model(view, selected)
    if not points["certain"].all():
        st.caption(
            "A hollow mark has no 95 % interval: under 6 samples on one side and too few processes, a mean of fewer "
            "than three models, or a baseline on another device."
        )
    doubts.legend(points["doubt"])


_COLUMNS = [
    *("model", "variant", "backend", "value", "low", "high", "certain", "label", "n"),
    *("suite", "test", "latency_ms", "baseline_ms"),
]


def _point(row: Any) -> tuple[Any, ...]:
    n = f"{int(row.steady_n)} against {int(row.baseline_steady_n)} samples"
    latencies = (row.latency_s * _MS_PER_S, row.baseline_latency_s * _MS_PER_S)
    ends = (row.speedup, row.speedup_low, row.speedup_high)
    return (row.model, row.series, row.backend, *_with_ends(*ends), n, row.suite, row.test, *latencies)


def _mean(row: Any) -> tuple[Any, ...]:
    ends, n = (row.geomean, row.geomean_low, row.geomean_high), count(int(row.n), unit([row.suite]))
    return (GEOMEAN, row.series, row.backend, *_with_ends(*ends), n, None, None, None, None)


def _with_ends(value: float, low: float, high: float) -> tuple[float, float, float, bool, str]:
    return value, low, high, not missing(low), f"{ratio(value)} ({interval(low, high)})"


def show_distribution(view: View) -> None:
    """Draw one chart per test and accelerator, all suites together."""
    rows = with_series(data.rows(view.snapshot, "speedup_curve", view.selection))
    st.caption(
        "Each curve has one step per model, from the slowest on. Where it crosses 1 is the share of models whose "
        "speedup is below 1."
    )
    for place, (keys, part) in charts.abreast(sections(rows, SECTION)):
        with place:
            _curve_chart(view, keys, part)
    downloads.below(rows, "curve", data.source(view, "speedup-distribution", "speedup_curve"))


def _curve_chart(view: View, keys: tuple[str, ...], part: pd.DataFrame) -> None:
    st.subheader(answers.section_title(keys), anchor=False)
    selected = charts.selectable(
        speedup_curve(_curve_points(part), view.selection.baseline),
        key="curve-" + "-".join(keys),
        text=f"Distribution of speedups over {view.selection.baseline}, {' '.join(keys)}",
    )
    charts.open_model(view, selected)


def _curve_points(part: pd.DataFrame) -> pd.DataFrame:
    what = unit(part["suite"])
    return pd.DataFrame(
        {
            "model": part["model"],
            "suite": part["suite"],
            "test": part["test"],
            "variant": part["series"],
            "backend": part["backend"],
            "value": part["speedup"],
            "share": part["share"],
            "label": [f"{ratio(r.speedup)} ({interval(r.speedup_low, r.speedup_high)})" for r in iter_rows(part)],
            "n": [f"{int(row.place)} of {count(int(row.results_n), what)}" for row in iter_rows(part)],
        }
    )


HEIGHT_PX = 380


def speedup_curve(frame: pd.DataFrame, baseline: str) -> Drawing:
    """Draw one curve per variant through its models in order of speedup.

    Args:
        frame: columns model, suite, test, variant, backend, value, share (0 to 1), label, n.
        baseline: name of the baseline, for the axis title.
    """
    return Drawing(_curve_spec(drawing.pairs(frame), axes.ratio_domain(frame["value"]), baseline), frame)


@lru_cache(maxsize=256)
def _curve_spec(pairs: tuple[tuple[str, str], ...], domain: tuple[float, float], baseline: str) -> dict[str, Any]:
    up = axes.ratio_height(domain, f"Speedup over {baseline} (log scale)")
    colour, shape, _ = axes.looks(pairs)
    base = drawing.points().encode(
        x=alt.X(
            "share:Q",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(title="Share of the models, from the slowest on", format=".0%", titleFontSize=12),
        ),
        y=up,
        color=colour,
    )
    one = drawing.single().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(y=up)
    line = base.mark_line(strokeWidth=2, interpolate="step-before")
    tooltip = drawing.tooltip(model="Model", suite="Suite", variant="Backend", label="Speedup (95 %)", n="Place")
    dots = base.mark_point(size=60, filled=True, opacity=1).encode(shape=shape, tooltip=tooltip)
    return drawing.specified(layered(one, line, dots.add_params(axes.pick()), height=HEIGHT_PX))
