"""Compile-time dots: models down, logarithmic seconds across, one row per variant; hollow dots had a warm cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd


def duration_dots(frame: pd.DataFrame, models: list[str], title: str, *, in_seconds: bool = True) -> alt.LayerChart:
    """Draw one dot per result.

    Args:
        frame: columns model, suite, test, variant, backend, value (> 0), warm, label, graphs, cache.
        models: order of the rows.
        title: the metric's name.
        in_seconds: what the values are; else they are counts.
    """
    colour, shape, row = axes.series(frame)
    base = alt.Chart(frame).encode(
        x=axes.log_axis(
            frame["value"],
            f"{title} (log scale; left is better)",
            axes.SECONDS if in_seconds else axes.NUMBERS,
        ),
        y=axes.model_axis(models),
        yOffset=row,
        color=colour,
    )
    dots = base.mark_point(size=75, strokeWidth=1.8, opacity=1).encode(
        shape=shape,
        fill=axes.filled("!datum.warm", colour),
        tooltip=[
            alt.Tooltip("model:N", title="Model"),
            alt.Tooltip("variant:N", title="Variant"),
            alt.Tooltip("label:N", title=title),
            alt.Tooltip("graphs:N", title="Graphs"),
            alt.Tooltip("cache:N", title="Cache"),
        ],
    )
    return layered(dots.add_params(axes.pick()), height=axes.height(len(models), frame["variant"].nunique()))
