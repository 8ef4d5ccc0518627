"""Speedup dots: models down, a logarithmic ratio axis centred on 1 across, one row per variant."""

from __future__ import annotations

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered


def ratio_dots(frame: pd.DataFrame, models: list[str], baseline: str, first: str = "Model") -> alt.LayerChart:
    """Draw one dot per result with its 95 % interval; a hollow dot has no interval.

    Args:
        frame: columns model, variant, backend, value, low, high, certain, label, n, latency_ms, baseline_ms; with
            suite and test, dots can be selected.
        models: order of the rows; `geomean` may be one of them.
        baseline: name of the baseline, for the axis title.
        first: what the rows are, for the tooltip.
    """
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    title = f"Speedup over {baseline} (log scale; right of 1 is faster)"
    colour, shape, row = axes.series(frame)
    base = alt.Chart(frame)
    place = {"y": axes.model_axis(models), "yOffset": row, "color": colour}
    one = (
        alt.Chart(pd.DataFrame({"value": [1.0]}))
        .mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
        .encode(x=axes.ratio_axis("value", domain, title))
    )
    intervals = (
        base.transform_filter("datum.certain")
        .mark_bar(size=2)
        .encode(x=axes.ratio_axis("low", domain, title), x2="high:Q", **place)
    )
    dots = base.mark_point(size=75, strokeWidth=1.8, opacity=1).encode(
        x=axes.ratio_axis("value", domain, title),
        **place,
        shape=shape,
        fill=axes.filled("datum.certain", colour),
        tooltip=_tooltip(first, known="latency_ms" in frame.columns),
    )
    if "suite" in frame.columns:
        dots = dots.add_params(axes.pick())
    variants = frame["variant"].nunique()
    return layered(one, intervals, dots, height=axes.height(len(models), variants))


def _tooltip(first: str, *, known: bool) -> list[alt.Tooltip]:
    latencies = [
        alt.Tooltip("latency_ms:Q", title="Latency, ms", format=",.3~f"),
        alt.Tooltip("baseline_ms:Q", title="Baseline latency, ms", format=",.3~f"),
    ]
    return [
        alt.Tooltip("model:N", title=first),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:N", title="n"),
        *(latencies if known else []),
    ]
