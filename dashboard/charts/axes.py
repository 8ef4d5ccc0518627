"""Axes and encodings that the charts share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import altair as alt

from dashboard import palette

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

ROW_PX = 15
"""Height of one dot row, in pixels."""

LABEL_PX = 190
"""Room for model names, the same in each chart, so that charts under one another line up."""


def ratio_domain(values: Iterable[float]) -> tuple[float, float]:
    """Return a domain that is symmetric around 1 on a log axis and holds every value; at least 0.8 to 1.25."""
    reach = max((abs(math.log(v)) for v in values if v and v > 0 and math.isfinite(v)), default=0.0)
    limit = math.exp(max(reach * 1.08, math.log(1.25)))
    return 1 / limit, limit


def ratio_ticks(domain: tuple[float, float]) -> list[float]:
    """Return ticks in pairs v, 1/v with 1 in the middle, at most nine."""
    _, high = domain
    steps = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
    inside = [step for step in steps if step <= high * 1.001]
    chosen = inside[-4:] if high > 3 else inside  # noqa: PLR2004 - beyond 3× the small steps would overlap
    return sorted({1.0, *chosen, *(1 / step for step in chosen)})


def ratio_axis(title: str, domain: tuple[float, float]) -> alt.X:
    """Return a logarithmic x encoding of `value`, centred on 1."""
    return alt.X(
        "value:Q",
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(
            title=title, values=ratio_ticks(domain), labelExpr="format(datum.value, '.2~f') + '×'", grid=True
        ),
    )


def seconds_axis(title: str) -> alt.X:
    """Return a logarithmic x encoding of `value` in seconds."""
    return alt.X(
        "value:Q",
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(
            title=title,
            labelExpr="datum.value < 1 ? format(datum.value * 1000, '~r') + ' ms' : format(datum.value, ',~r') + ' s'",
            labelOverlap=True,
            tickCount=8,
        ),
    )


def model_axis(models: list[str]) -> alt.Y:
    """Return a y encoding of `model` in the given order; long names end in an ellipsis, the tooltip has all."""
    return alt.Y(
        "model:N",
        sort=models,
        axis=alt.Axis(title=None, labelLimit=LABEL_PX, minExtent=LABEL_PX, ticks=False, domain=False, grid=True),
        scale=alt.Scale(domain=models, paddingInner=0.25, paddingOuter=0.15),
    )


def series(frame: pd.DataFrame) -> tuple[alt.Color, alt.Shape, alt.YOffset]:
    """Return colour, shape and row of each variant."""
    pairs = list(dict.fromkeys(zip(frame["variant"], frame["backend"], strict=True)))
    domain, colours, shapes = palette.scale(pairs)
    legend = alt.Legend(title=None, orient="top", symbolSize=90, labelLimit=320, symbolFillColor=None)
    return (
        alt.Color("variant:N", scale=alt.Scale(domain=domain, range=colours), legend=legend),
        alt.Shape("variant:N", scale=alt.Scale(domain=domain, range=shapes), legend=legend),
        alt.YOffset("variant:N", sort=domain, scale=alt.Scale(domain=domain)),
    )


def height(models: int, variants: int) -> int:
    """Return the height in pixels of a chart with one row per model and variant."""
    return max(60, round(models * max(26, variants * ROW_PX)))
