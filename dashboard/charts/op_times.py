"""Operators down, time of a call across on a logarithmic axis: a dot per backend, a grey tick where its floor is."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes, drawing
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from collections.abc import Sequence

LABEL_PX = 330
"""Room for an operator with its arguments."""


def dots(frame: pd.DataFrame, models: Sequence[str]) -> Drawing:
    """Draw one dot per result with the 95 % interval of its time; a hollow dot gets no verdict.

    Args:
        frame: columns model, suite, test, variant, backend, value, low, high, floor (seconds; floor is none where it is
            not drawn), judged, time, floor_text, label, n.
        models: order of the rows.
    """
    pairs = drawing.pairs(frame)
    domain = axes.round_domain(pd.concat([frame[name] for name in ("value", "low", "high", "floor")]).dropna())
    spec = _spec(pairs, domain, axes.row_px(len(models), len(pairs)))
    return Drawing(spec, drawing.placed(frame, models))


@lru_cache(maxsize=256)
def _spec(pairs: tuple[tuple[str, str], ...], domain: tuple[float, float], row_px: int) -> dict[str, Any]:
    colour, shape, row = axes.looks(pairs)
    base = drawing.points().encode(y=axes.model_axis(LABEL_PX), yOffset=row)
    floors = (
        base.transform_filter("isValid(datum.floor)")
        .mark_tick(color=palette.NEUTRAL, thickness=2, size=11)
        .encode(x=_across("floor", domain), tooltip=_tooltip())
    )
    intervals = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_bar(size=2, clip=True)
        .encode(x=_across("low", domain), x2="high:Q", color=colour)
    )
    marks = (
        base.mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(
            x=_across("value", domain),
            color=colour,
            shape=shape,
            fill=axes.filled("datum.judged", colour),
            tooltip=_tooltip(),
        )
        .add_params(axes.pick())
    )
    return drawing.specified(layered(floors, intervals, marks, height=axes.steps(row_px)))


def _across(column: str, domain: tuple[float, float]) -> alt.X:
    return alt.X(
        f"{column}:Q",
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(
            title="Time of one call (log scale; left is faster)",
            values=axes.log_ticks(domain),
            labelExpr=axes.SHORT_SECONDS,
            labelFontSize=12,
            titleFontSize=12,
            grid=True,
        ),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Operator"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("time:N", title="Time of a call"),
        alt.Tooltip("floor_text:N", title="Empty sync"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:Q", title="n"),
    ]
