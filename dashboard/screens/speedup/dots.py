"""Models by backends as dots with intervals on a log axis; a click on a dot opens the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import answers, data, doubts
from dashboard.charts import drawing, ratios
from dashboard.charts.axes import GEOMEAN
from dashboard.rows import each, most_first, with_series
from dashboard.screens import opening
from dashboard.screens.speedup import sides
from dashboard.settings import CHART_MODELS
from dashboard.words import count, interval, missing, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.view import View

_MS_PER_S = 1000


def show(view: View, ordered: pd.DataFrame, charted: Sequence[tuple[str, ...]]) -> None:
    """Draw one chart per test, accelerator and suite, of those that are asked for; models in the order of the rows."""
    baseline = view.selection.baseline
    means = with_series(answers.compared(data.geomeans(view.snapshot, view.selection), baseline))
    tops = parts([row for row in each(means) if not missing(row.geomean)])
    every = parts(sides.compared(ordered, baseline))
    for keys in charted:
        _chart(view, keys, every[keys], tops.get(keys, []))


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
    """Return rows by test, accelerator and suite, those with most first."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        found.setdefault((row.test, row.accelerator, row.suite), []).append(row)
    return most_first(found)


def _chart(view: View, keys: tuple[str, ...], part: list[Any], means: list[Any]) -> None:
    """Draw one suite of one test and accelerator, the geometric mean on top."""
    baseline = view.selection.baseline
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(dict.fromkeys(row.model for row in part))
    if len(models) > CHART_MODELS:
        st.caption(f"The first {CHART_MODELS} of {count(len(models), 'model')} in this order; the table has all.")
        models = models[:CHART_MODELS]
    drawn = set(models)
    shown = [row for row in part if row.model in drawn]
    points = pd.DataFrame([*map(_mean, means), *map(_point, shown)], columns=_COLUMNS)
    points["doubt"] = [*[""] * len(means), *doubts.on_points(shown)]
    picked = drawing.selectable(
        ratios.ratio_dots(points, [GEOMEAN, *models], baseline),
        key="ratios-" + "-".join(keys),
        text=f"Speedup over {baseline} by model, {' '.join(keys)}",
    )
    opening.from_chart(view, picked)
    if not points["certain"].all():
        st.caption(
            "A hollow mark has no 95 % interval: under 6 samples on one side, a mean of fewer than three models, or a "
            "baseline on another device."
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
    return (row.model, row.series, row.backend, *_ratio(*ends), n, row.suite, row.test, *latencies)


def _mean(row: Any) -> tuple[Any, ...]:
    ends = (row.geomean, row.geomean_low, row.geomean_high)
    return (GEOMEAN, row.series, row.backend, *_ratio(*ends), count(int(row.n), "model"), None, None, None, None)


def _ratio(value: float, low: float, high: float) -> tuple[float, float, float, bool, str]:
    return value, low, high, not missing(low), f"{ratio(value)} ({interval(low, high)})"
