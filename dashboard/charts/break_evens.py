"""What one waits against what one gains: speedup across, time to the steady state up, both logarithmic."""

from __future__ import annotations

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered

HEIGHT_PX = 400


def scatter(frame: pd.DataFrame, baseline: str) -> alt.LayerChart:
    """Draw one mark per result; a hollow one never earns its compile time.

    Args:
        frame: columns model, suite, test, variant, backend, speedup, wait (seconds, > 0), pays, outcome, label, waits.
        baseline: name of the baseline, for the axis title.
    """
    domain = axes.ratio_domain(frame["speedup"])
    across = axes.ratio_axis("speedup", domain, f"Speedup over {baseline} (log scale; right of 1 is faster)")
    up = axes.log_height("wait", frame["wait"], "Time to steady (log scale; lower is better)")
    colour, shape, _ = axes.series(frame)
    one = alt.Chart(pd.DataFrame({"speedup": [1.0]})).mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(x=across)
    marks = (
        alt.Chart(frame)
        .mark_point(size=85, strokeWidth=1.8, opacity=1)
        .encode(
            x=across,
            y=up,
            color=colour,
            shape=shape,
            fill=axes.filled("datum.pays", colour),
            tooltip=_tooltip(baseline),
        )
        .add_params(axes.pick())
    )
    return layered(one, marks, height=HEIGHT_PX)


def _tooltip(baseline: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("suite:N", title="Suite"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("outcome:N", title=f"Ahead of {baseline}"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("waits:N", title="Time to steady, against the baseline's"),
    ]
