"""What got slower and faster: a dot with its interval on a logarithmic axis; filled ones are confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from dashboard import palette, verdicts
from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW_PX = 24
NAME_PX = 330
CHROME_PX = 60
LEAST_ROWS = 2
"""A single mark needs the room of two, else axis and title cut it."""


def change_dots(frame: pd.DataFrame, names: Sequence[str]) -> alt.LayerChart:
    """Draw one row per finding.

    Args:
        frame: columns name, word, value, low, high, certain, label.
        names: order of the rows.
    """
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    title = "Time of A / time of B (log scale; left of 1 B is slower)"
    words = [word for word in ("slower", "faster") if (frame["word"] == word).any()]
    looks = [verdicts.look(word) for word in words]
    colour = alt.Color(
        "word:N",
        scale=alt.Scale(domain=words, range=[each.colour for each in looks]),
        legend=None,
    )
    down = alt.Y(
        "name:N",
        sort=list(names),
        axis=alt.Axis(
            title=None,
            labelLimit=axes.names_px(NAME_PX),
            minExtent=axes.names_px(NAME_PX),
            labelFontSize=12,
            ticks=False,
            domain=False,
        ),
    )
    base = alt.Chart(frame).encode(y=down, color=colour)
    one = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
    dots = base.mark_point(size=75, strokeWidth=1.8, opacity=1).encode(
        x=axes.ratio_axis("value", domain, title),
        shape=alt.Shape(
            "word:N",
            scale=alt.Scale(
                domain=words, range=["triangle-down" if word == "slower" else "triangle-up" for word in words]
            ),
            legend=None,
        ),
        fill=axes.filled("datum.certain", colour),
        tooltip=[alt.Tooltip("name:N", title="Finding"), alt.Tooltip("label:N", title="A / B")],
    )
    spans = base.mark_bar(size=2).encode(x=axes.ratio_axis("low", domain, title), x2="high:Q")
    return layered(
        one.encode(x=axes.ratio_axis("value", domain, title)),
        spans,
        dots,
        height=CHROME_PX + ROW_PX * max(len(names), LEAST_ROWS),
    )
