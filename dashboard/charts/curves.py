"""Distribution of speedups: share of models across, a logarithmic ratio axis centred on 1 up, one curve per variant."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt

from dashboard import palette
from dashboard.charts import axes, drawing
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

HEIGHT_PX = 380


def speedup_curve(frame: pd.DataFrame, baseline: str) -> Drawing:
    """Draw one curve per variant through its models in order of speedup.

    Args:
        frame: columns model, suite, test, variant, backend, value, share (0 to 1), label, n.
        baseline: name of the baseline, for the axis title.
    """
    return Drawing(_spec(drawing.pairs(frame), axes.ratio_domain(frame["value"]), baseline), frame)


@lru_cache(maxsize=256)
def _spec(pairs: tuple[tuple[str, str], ...], domain: tuple[float, float], baseline: str) -> dict[str, Any]:
    up = axes.ratio_height("value", domain, f"Speedup over {baseline} (log scale)")
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
    one = drawing.single(1).mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(y=up)
    line = base.mark_line(strokeWidth=2, interpolate="monotone")
    dots = base.mark_point(size=60, filled=True, opacity=1).encode(shape=shape, tooltip=_tooltip())
    return drawing.specified(layered(one, line, dots.add_params(axes.pick()), height=HEIGHT_PX))


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("suite:N", title="Suite"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:N", title="Place"),
    ]
