"""What one waits against what one gains: speedup across, time to the steady state up, both logarithmic."""

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

HEIGHT_PX = 400


def scatter(frame: pd.DataFrame, baseline: str) -> Drawing:
    """Draw one mark per result; a hollow one never earns its compile time.

    Args:
        frame: columns model, suite, test, variant, backend, speedup, wait (seconds, > 0), pays, outcome, label, waits,
            doubt.
        baseline: name of the baseline, for the axis title.
    """
    ends = axes.ratio_domain(frame["speedup"]), axes.round_domain(frame["wait"])
    spec = _spec(drawing.pairs(frame), *ends, baseline, marked=bool(frame["doubt"].any()))
    return Drawing(spec, frame)


@lru_cache(maxsize=256)
def _spec(
    pairs: tuple[tuple[str, str], ...],
    ratios: tuple[float, float],
    waits: tuple[float, float],
    baseline: str,
    *,
    marked: bool,
) -> dict[str, Any]:
    across = axes.ratio_axis("value", ratios, f"Speedup over {baseline} (log scale; right of 1 is faster)")
    speedup = axes.ratio_axis("speedup", ratios, f"Speedup over {baseline} (log scale; right of 1 is faster)")
    up = axes.log_height("wait", waits, "Time to steady (log scale; lower is better)")
    colour, shape, _ = axes.looks(pairs)
    one = drawing.single(1).mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(x=across)
    marks = (
        drawing.points()
        .mark_point(size=85, strokeWidth=1.8, opacity=1)
        .encode(
            x=speedup,
            y=up,
            color=colour,
            shape=shape,
            fill=axes.filled("datum.pays", colour),
            tooltip=_tooltip(baseline),
        )
        .add_params(axes.pick())
    )
    doubts = [axes.doubt_marks(speedup, y=up)] if marked else []
    return drawing.specified(layered(one, marks, *doubts, height=HEIGHT_PX))


def _tooltip(baseline: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("suite:N", title="Suite"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("outcome:N", title=f"Ahead of {baseline}"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("waits:N", title="Time to steady, against the baseline's"),
    ]
