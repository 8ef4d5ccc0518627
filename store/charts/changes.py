"""Changes of speed as dots with their intervals on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered

ROW_PX = 24
NAME_PX = 330
CHROME_PX = 84
LEAST_ROWS = 2
"""Least number of rows for the height: a single row would be cut by axis and title."""


def change_dots(frame: pd.DataFrame, names: Sequence[str], axis: str) -> Drawing:
    """Draw one row per change; a hollow mark is a suspected change.

    Args:
        frame: columns name, word (slower or faster), value, low, high, certain, label.
        names: order of the rows.
        axis: name of the ratio.
    """
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    words = [word for word in palette.VERDICTS if (frame["word"] == word).any()]
    colours, shapes = ([palette.VERDICTS[word][part] for word in words] for part in (0, 1))
    colour = alt.Color("word:N", scale=alt.Scale(domain=words, range=colours), legend=None)
    down = alt.Y(
        "name:N",
        sort=list(names),
        axis=alt.Axis(
            title=None,
            labelLimit=axes.names_px(NAME_PX),
            minExtent=axes.names_px(NAME_PX),
            **axes.name_lines(" (?=(?:eval|train) )", 2),
            ticks=False,
            domain=False,
        ),
    )
    base = drawing.points().encode(y=down, color=colour)
    unit_rule = drawing.single().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
    dots = base.mark_point(size=75, strokeWidth=1.8, opacity=1).encode(
        x=axes.ratio_axis("value", domain, axis),
        shape=alt.Shape("word:N", scale=alt.Scale(domain=words, range=shapes), legend=None),
        fill=axes.filled("datum.certain", colour),
        tooltip=drawing.tooltip(name="Finding", label="A / B"),
    )
    spans = base.mark_bar(size=2).encode(x=axes.ratio_axis("low", domain, axis), x2="high:Q")
    layers = (unit_rule.encode(x=axes.ratio_axis("value", domain, axis)), spans, dots)
    height = CHROME_PX + ROW_PX * max(len(names), LEAST_ROWS)
    return Drawing(drawing.specified(layered(*layers, height=height)), frame)
