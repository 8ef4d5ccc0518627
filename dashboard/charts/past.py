"""The latency of one series over its runs, with intervals; runs without a number stand at the foot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard import palette
from dashboard.charts import history
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

HEIGHT_PX = 260


def line(frame: pd.DataFrame, backend: str) -> alt.LayerChart:
    """Draw one mark per run that ran.

    Args:
        frame: columns started, run, ms, low, high, n, torch, shown (whether it is the run that the page shows).
        backend: gives the colour.
    """
    base = alt.Chart(frame).encode(
        x=history.across_time(days=history.many_days(frame["started"])),
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("started:T", title="Started (UTC)", format="%Y-%m-%d %H:%M"),
            alt.Tooltip("ms:Q", title="Latency, ms", format=",.4~g"),
            alt.Tooltip("low:Q", title="95 % low, ms", format=",.4~g"),
            alt.Tooltip("high:Q", title="95 % high, ms", format=",.4~g"),
            alt.Tooltip("n:Q", title="n"),
            alt.Tooltip("torch:N", title="torch"),
        ],
    )
    down = alt.Y(
        "ms:Q", scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(title="ms per iteration", labelFontSize=12)
    )
    colour = palette.colour(backend)
    ends = base.transform_filter("isValid(datum.low)").mark_rule(color=colour, opacity=0.5)
    dots = base.mark_point(size=70, filled=True, opacity=1, color=colour)
    here = base.transform_filter("datum.shown").mark_point(size=230, color=palette.NEUTRAL, strokeWidth=1.5)
    return layered(
        base.mark_line(color=colour, strokeWidth=1.2).encode(y=down),
        ends.encode(y=alt.Y("low:Q", title=""), y2="high:Q"),
        dots.encode(y=down),
        here.encode(y=down),
        height=HEIGHT_PX,
    )
