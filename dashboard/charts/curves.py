"""Distribution of speedups: share of models across, a logarithmic ratio axis centred on 1 up, one curve per variant."""

from __future__ import annotations

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered

HEIGHT_PX = 380


def speedup_curve(frame: pd.DataFrame, baseline: str) -> alt.LayerChart:
    """Draw one curve per variant through its models in order of speedup.

    Args:
        frame: columns model, suite, test, variant, backend, value, share (0 to 1), label, n.
        baseline: name of the baseline, for the axis title.
    """
    domain = axes.ratio_domain(frame["value"])
    up = axes.ratio_height("value", domain, f"Speedup over {baseline} (log scale)")
    colour, shape, _ = axes.series(frame)
    base = alt.Chart(frame).encode(
        x=alt.X(
            "share:Q",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(title="Share of the models, from the slowest on", format=".0%", titleFontSize=12),
        ),
        y=up,
        color=colour,
    )
    one = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(y=up)
    line = base.mark_line(strokeWidth=2, interpolate="monotone")
    dots = base.mark_point(size=60, filled=True, opacity=1).encode(shape=shape, tooltip=_tooltip())
    return layered(one, line, dots.add_params(axes.pick()), height=HEIGHT_PX)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("suite:N", title="Suite"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:N", title="Place"),
    ]
