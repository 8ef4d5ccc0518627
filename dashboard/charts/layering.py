"""Charts over one another."""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.vegalite.v6.schema import core


class Layered(alt.LayerChart):  # type: ignore[misc]  # altair has no types of it
    """A chart of layers that each have their own data and parameters.

    Altair's own lifts what the layers share, by copies and by a text of the data, whenever it is made or drawn: two
    thirds of the time of a small chart.
    """

    def __init__(self, **properties: Any) -> None:
        """Take the properties as they are."""
        core.TopLevelLayerSpec.__init__(self, **properties)


def layered(*charts: alt.Chart, height: int | alt.Step, **more: Any) -> Layered:
    """Lay charts over one another.

    Args:
        charts: the lowest first.
        height: of all together, pixels, or those of each row.
        more: further properties of a layered chart, as `resolve`.
    """
    return Layered(layer=list(charts), height=height, **more)
