"""Compile-time dots: models down, logarithmic seconds across, one row per variant; hollow dots had a warm cache."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt

from dashboard.charts import axes, drawing
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


def duration_dots(frame: pd.DataFrame, models: Sequence[str], title: str, *, in_seconds: bool = True) -> Drawing:
    """Draw one dot per result.

    Args:
        frame: columns model, suite, test, variant, backend, value (> 0), warm, label, graphs, cache, doubt.
        models: order of the rows.
        title: the metric's name.
        in_seconds: what the values are; else they are counts.
    """
    pairs = drawing.pairs(frame)
    row_px = axes.row_px(len(models), len(pairs))
    spec = _spec(
        pairs,
        axes.round_domain(frame["value"]),
        row_px,
        title,
        in_seconds=in_seconds,
        marked=bool(frame["doubt"].any()),
    )
    return Drawing(spec, drawing.placed(frame, models))


@lru_cache(maxsize=256)
def _spec(
    pairs: tuple[tuple[str, str], ...],
    domain: tuple[float, float],
    row_px: int,
    title: str,
    *,
    in_seconds: bool,
    marked: bool,
) -> dict[str, Any]:
    colour, shape, row = axes.looks(pairs)
    labels = axes.SECONDS if in_seconds else axes.NUMBERS
    across = axes.log_axis(domain, f"{title} (log scale; left is better)", labels)
    dots = (
        drawing.points()
        .mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(
            x=across,
            y=axes.model_axis(),
            yOffset=row,
            color=colour,
            shape=shape,
            fill=axes.filled("!datum.warm", colour),
            tooltip=[
                alt.Tooltip("model:N", title="Model"),
                alt.Tooltip("variant:N", title="Backend"),
                alt.Tooltip("label:N", title=title),
                alt.Tooltip("graphs:N", title="Graphs"),
                alt.Tooltip("cache:N", title="Cache"),
            ],
        )
    )
    doubts = [axes.doubt_marks(across, y=axes.model_axis(), yOffset=row)] if marked else []
    return drawing.specified(layered(dots.add_params(axes.pick()), *doubts, height=axes.steps(row_px)))
