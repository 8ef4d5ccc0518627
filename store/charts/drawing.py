"""Parts of charts: a specification that serves many frames, layers, and legends that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt
from altair.vegalite.v6.schema import core

if TYPE_CHECKING:
    import pandas as pd


_POINTS = "points"
_EVENTS = "events"


class Drawing(NamedTuple):
    """A specification (from `specified`, cached by its caller) and the rows that its layers read."""

    spec: Mapping[str, Any]
    rows: pd.DataFrame
    events: pd.DataFrame | None = None
    """Rows of the layers over `events`, if the chart has such layers."""

    def with_rows(self) -> dict[str, Any]:
        """Return the specification together with its rows."""
        events = {} if self.events is None else {_EVENTS: self.events}
        return {**self.spec, "datasets": {_POINTS: self.rows, **events}}


def points() -> alt.Chart:
    """Return a chart over the rows of its drawing; the caller adds marks and encodings."""
    return alt.Chart(alt.NamedData(_POINTS))


def events() -> alt.Chart:
    """Return a chart over the events of its drawing."""
    return alt.Chart(alt.NamedData(_EVENTS))


def single() -> alt.Chart:
    """Return a chart over one row with the `value` 1, the same in each drawing."""
    return alt.Chart(alt.sequence(1, 2, as_="value"))


def specified(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the specification of a chart that is as wide as its container; its height is in steps or pixels.

    A height in steps excludes the axes, a height in pixels includes them.
    """
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)  # altair's own theme; the dashboard's is added where it is drawn
    kind = "fit" if isinstance(spec["height"], int) else "fit-x"
    return spec | {"autosize": {"type": kind, "contains": "padding"}}


def pairs(frame: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Return variant and backend of each series, sorted; the specification depends on them."""
    return tuple(sorted(set(zip(frame["variant"], frame["backend"], strict=True))))


def placed(frame: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Add column `place`: the position of `model` in an order."""
    places = {model: place for place, model in enumerate(order)}
    return frame.assign(place=[places[model] for model in frame["model"]])


def tooltip(**titles: str) -> list[alt.Tooltip]:
    """Return the entries of a tooltip: a column of texts and its title each."""
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


class Layered(alt.LayerChart):  # type: ignore[misc]  # altair has no types of it
    """A chart of layers that each have their own data and parameters.

    Altair's own class moves what layers share to the top, with copies and a text of the data, each time it is created
    or drawn. That takes two thirds of the time of a small chart.
    """

    def __init__(self, **properties: Any) -> None:
        """Set the properties without Altair's processing."""
        core.TopLevelLayerSpec.__init__(self, **properties)


PHONE = "windowSize()[0] < 600"
"""Whether the window is a telephone's."""


def layered(*charts: alt.Chart, height: int | alt.Step, **properties: Any) -> Layered:
    """Return a chart of layers, the lowest first; its height is that of the whole chart in pixels, or of each row."""
    return Layered(layer=list(charts), height=height, **properties)


MARK_PX, LETTER_PX = 38, 5.4
"""Width of a legend entry without its name, and width of a letter of the name, in pixels."""
LONGEST_PX = 320
_XLA = "openxla+"


def legend(names: Iterable[str], **words: Any) -> alt.Legend:
    """Return a legend above a single chart, in as many columns as fit.

    On a telephone its names lack `openxla+`, so that two columns fit.

    Args:
        names: names of the entries; the longest one decides the width of a column.
        words: further properties of the legend.
    """
    every = list(names)
    wide, narrow = (_column_px(texts) for texts in (every, [name.replace(_XLA, "") for name in every]))
    columns = alt.ExprRef(f"max(1, floor(width / ({PHONE} ? {narrow} : {wide})))")
    text = f"{PHONE} ? replace(datum.label, '{_XLA}', '') : datum.label"
    look: dict[str, Any] = {"labelFontSize": 12, "labelLimit": LONGEST_PX, "labelExpr": text}
    return alt.Legend(title=None, orient="top", columns=columns, **look, **words)


def _column_px(names: Iterable[str]) -> int:
    return round(MARK_PX + min(LETTER_PX * max(map(len, names), default=0), LONGEST_PX))
