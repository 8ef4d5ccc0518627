"""The legend above a chart, in as many columns as the chart has room for."""

from __future__ import annotations

from typing import Any

import altair as alt

COLUMN_PX = 140
"""What the longest name of a backend takes, with its mark."""


def legend(**words: Any) -> alt.Legend:
    """Return a legend above a chart that is not made of several: on a telephone its entries stand below each other."""
    columns = alt.ExprRef(f"max(1, floor(width / {COLUMN_PX}))")
    return alt.Legend(title=None, orient="top", labelFontSize=12, labelLimit=320, columns=columns, **words)
