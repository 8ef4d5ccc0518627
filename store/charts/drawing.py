"""How a chart is drawn: one specification for many frames, layers, and legends that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt
from altair.vegalite.v6.schema import core

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd


_POINTS = "points"
_EVENTS = "events"


class Drawing(NamedTuple):
    """A specification (`specified`, kept by its caller) and the rows that its layers read."""

    spec: Mapping[str, Any]
    rows: pd.DataFrame
    events: pd.DataFrame | None = None
    """Those of layers over `events`, if it has such."""

    def with_rows(self) -> dict[str, Any]:
        """Return the specification together with its rows."""
        events = {} if self.events is None else {_EVENTS: self.events}
        return {**self.spec, "datasets": {_POINTS: self.rows, **events}}


def points() -> alt.Chart:
    """Return a chart over the rows of its drawing, to be given marks and encodings."""
    return alt.Chart(alt.NamedData(_POINTS))


def events() -> alt.Chart:
    """Return a chart over the events of its drawing."""
    return alt.Chart(alt.NamedData(_EVENTS))


def single(value: int) -> alt.Chart:
    """Return a chart over one row with a `value`, the same in each drawing."""
    return alt.Chart(alt.sequence(value, value + 1, as_="value"))


def specified(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the specification of a chart as wide as its place, and as high as its steps or its number of pixels.

    With steps the axes come to the height, in pixels they are within it.
    """
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)  # altair's own theme; the dashboard's is added where it is drawn
    kind = "fit" if isinstance(spec["height"], int) else "fit-x"
    return spec | {"autosize": {"type": kind, "contains": "padding"}}


def pairs(frame: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Return variant and backend of each series, sorted: part of the shape."""
    return tuple(sorted(set(zip(frame["variant"], frame["backend"], strict=True))))


def placed(frame: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Add column `place` of `model` in an order."""
    places = {model: place for place, model in enumerate(order)}
    return frame.assign(place=[places[model] for model in frame["model"]])


class Layered(alt.LayerChart):  # type: ignore[misc]  # altair has no types of it
    """A chart of layers that each have their own data and parameters.

    Altair's own lifts what the layers share, by copies and by a text of the data, whenever it is made or drawn: two
    thirds of the time of a small chart.
    """

    def __init__(self, **properties: Any) -> None:
        """Take the properties as they are."""
        core.TopLevelLayerSpec.__init__(self, **properties)


PHONE = "windowSize()[0] < 600"
"""Whether the window is a telephone's."""


def layered(*charts: alt.Chart, height: int | alt.Step, **more: Any) -> Layered:
    """Lay charts over one another.

    Args:
        charts: the lowest first.
        height: of all together, pixels, or those of each row.
        more: further properties of a layered chart, as `resolve`.
    """
    return Layered(layer=list(charts), height=height, **more)


MARK_PX, LETTER_PX = 38, 5.4
"""What an entry takes beside its name, and for each letter of it, at this size of letters."""
LONGEST_PX = 320
_XLA = "openxla+"


def legend(names: Iterable[str], **words: Any) -> alt.Legend:
    """Return a legend above a chart that is not made of several, in as many columns as there is room for.

    On a telephone its names go without `openxla+`: two of them stand beside each other.

    Args:
        names: of the entries; the longest one says how wide a column is.
        words: of the legend, besides.
    """
    every = list(names)
    wide, narrow = (_column_px(texts) for texts in (every, [name.replace(_XLA, "") for name in every]))
    columns = alt.ExprRef(f"max(1, floor(width / ({PHONE} ? {narrow} : {wide})))")
    text = f"{PHONE} ? replace(datum.label, '{_XLA}', '') : datum.label"
    look: dict[str, Any] = {"labelFontSize": 12, "labelLimit": LONGEST_PX, "labelExpr": text}
    return alt.Legend(title=None, orient="top", columns=columns, **look, **words)


def _column_px(names: Iterable[str]) -> int:
    return round(MARK_PX + min(LETTER_PX * max(map(len, names), default=0), LONGEST_PX))
