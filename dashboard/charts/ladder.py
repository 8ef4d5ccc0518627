"""Bars of the overhead ladder: a rung per row, milliseconds across, the program's own execution darker within."""

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

ROW_PX = 34
CHROME_PX = 56
ROOM = 1.4
"""Length of the axis, relative to the longest bar."""
LABEL_PX = 190


def bars(frame: pd.DataFrame) -> Drawing:
    """Draw the rungs in their order.

    Args:
        frame: columns name, variant, latency_s, latency_low_s, latency_high_s, execute_s, step; seconds.
    """
    ms = frame[["name", "variant", "step"]].assign(
        latency=frame["latency_s"] * 1e3,
        low=frame["latency_low_s"] * 1e3,
        high=frame["latency_high_s"] * 1e3,
        execution=frame["execute_s"] * 1e3,
    )
    return Drawing(_spec(tuple(frame["name"]), float(ms["latency"].max())), ms)


@lru_cache(maxsize=256)
def _spec(order: tuple[str, ...], longest: float) -> dict[str, Any]:
    names = alt.Axis(title=None, labelLimit=axes.names_px(LABEL_PX), labelFontSize=12)
    base = drawing.points().encode(y=alt.Y("name:N", sort=list(order), axis=names), tooltip=_tooltip())
    title = "Latency, ms per iteration (full colour: execution)"
    axis = alt.Axis(title=title, titleAnchor=axes.title_anchor(), labelFontSize=12)
    # One interval that outliers stretch must not squeeze the bars: it leaves the picture, the tooltip has its end.
    reach = alt.Scale(domain=[0, longest * ROOM], nice=False)
    colour = palette.colour("openxla+lazytensor")
    whole = base.mark_bar(color=colour, opacity=0.45, height=18).encode(x=alt.X("latency:Q", axis=axis, scale=reach))
    inner = base.transform_filter("isValid(datum.execution)").mark_bar(color=colour, height=18)
    ends = base.transform_filter("isValid(datum.low)").mark_rule(color=palette.NEUTRAL, strokeWidth=2, clip=True)
    return drawing.specified(
        layered(
            whole,
            inner.encode(x=alt.X("execution:Q", axis=axis, scale=reach)),
            ends.encode(x=alt.X("low:Q", axis=axis, scale=reach), x2="high:Q"),
            height=CHROME_PX + ROW_PX * len(order),
        )
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="Rung"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("latency:Q", title="Latency, ms", format=",.3~f"),
        alt.Tooltip("low:Q", title="95 % low, ms", format=",.3~f"),
        alt.Tooltip("high:Q", title="95 % high, ms", format=",.3~f"),
        alt.Tooltip("execution:Q", title="Execution, ms", format=",.3~f"),
        alt.Tooltip("step:N", title="Against the rung before"),
    ]
