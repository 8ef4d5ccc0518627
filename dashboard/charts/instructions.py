"""How many more or fewer of each instruction a program has than another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard import palette, verdicts
from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

MOST = 20
ROW_PX = 20


def bars(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw one bar per instruction, in the order of the rows.

    Args:
        frame: columns op, ops_a, ops_b, difference, label; at most `MOST` rows.
    """
    names = axes.names_px(axes.LABEL_PX)
    down = alt.Y("op:N", sort=None, axis=alt.Axis(title=None, labelLimit=names, minExtent=names, ticks=False))
    across = alt.X("difference:Q", axis=alt.Axis(title="Instructions in B less those in A", format="~s", tickMinStep=1))
    fewer, more = (verdicts.look(word).colour for word in ("slower", "faster"))
    ink = alt.ColorValue(more, condition={"test": "datum.difference < 0", "value": fewer})
    base = alt.Chart(frame).encode(y=down)
    tooltip = [alt.Tooltip("op:N", title="Instruction"), alt.Tooltip("label:N", title="A \u2192 B")]
    return layered(
        base.mark_bar(height=ROW_PX - 6).encode(x=across, color=ink, tooltip=tooltip),
        base.mark_rule(color=palette.NEUTRAL).encode(x=alt.XDatum(0)),
        height=axes.steps(ROW_PX),
    )
