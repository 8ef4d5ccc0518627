"""The first blocks in time: one row per variant, in it a lane for the block and one for each thing known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

BLOCK = "Block"
LANES: dict[str, str] = {BLOCK: "total_s", "Trace": "trace_s", "Compile": "compile_s", "Execute": "execute_s"}
"""Lane, from the top → its column of seconds."""
_COLOURS = ("#8A8A8A", "#9A7BD0", "#D2492A", "#1BA37D")
LANE_PX = 15
CHROME_PX = 110


def blocks(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw one bar per block and lane; a triangle marks a block in which a program was compiled.

    Args:
        frame: columns variant, backend, lane, begin, end (seconds), label, block, compiles, compiled.
    """
    lanes = list(LANES)
    variants = list(dict.fromkeys(frame["variant"]))
    end = float(frame["end"].max()) if len(frame) else 1.0
    across = alt.X(
        "begin:Q",
        scale=alt.Scale(domain=[0, end * 1.02], nice=False),
        axis=alt.Axis(title="Seconds since the first block began", tickCount=10, labelFontSize=12, titleFontSize=12),
    )
    base = alt.Chart(frame).encode(
        x=across,
        y=alt.Y(
            "variant:N",
            sort=variants,
            scale=alt.Scale(domain=variants, paddingInner=0.25),
            axis=alt.Axis(
                title=None,
                labelLimit=axes.names_px(axes.LABEL_PX),
                labelFontSize=12,
                minExtent=axes.names_px(axes.LABEL_PX),
                ticks=False,
            ),
        ),
        yOffset=alt.YOffset("lane:N", sort=lanes, scale=alt.Scale(domain=lanes, paddingInner=0.15)),
    )
    bars = base.mark_bar(stroke="white", strokeWidth=0.6, minBandSize=LANE_PX - 4).encode(
        x2="end:Q", color=_colour(lanes), tooltip=_tooltip()
    )
    marks = (
        base.transform_filter("datum.compiled")
        .mark_point(shape="triangle-down", size=55, filled=True, color="#D2492A", opacity=1, yOffset=-4)
        .encode(tooltip=_tooltip())
    )
    return layered(bars, marks, height=CHROME_PX + LANE_PX * len(LANES) * max(1, len(variants)) * 5 // 4)


def _colour(lanes: list[str]) -> alt.Color:
    return alt.Color(
        "lane:N",
        scale=alt.Scale(domain=lanes, range=list(_COLOURS)),
        legend=alt.Legend(title=None, orient="top", labelFontSize=12),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("block:N", title="Block"),
        alt.Tooltip("lane:N", title="What"),
        alt.Tooltip("label:N", title="Duration"),
        alt.Tooltip("compiles:N", title="Programs compiled in the block"),
    ]
