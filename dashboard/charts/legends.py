"""The legend above a chart, in as many columns as the chart has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK_PX, LETTER_PX = 38, 5.4
"""What an entry takes beside its name, and for each letter of it, at this size of letters."""
LONGEST_PX = 320


def legend(names: Iterable[str], **words: Any) -> alt.Legend:
    """Return a legend above a chart that is not made of several: on a telephone its entries stand below each other.

    Args:
        names: of the entries; the longest one says how wide a column is.
        words: of the legend, besides.
    """
    longest = max((len(name) for name in names), default=0)
    column = round(MARK_PX + min(LETTER_PX * longest, LONGEST_PX))
    columns = alt.ExprRef(f"max(1, floor(width / {column}))")
    return alt.Legend(title=None, orient="top", labelFontSize=12, labelLimit=LONGEST_PX, columns=columns, **words)
