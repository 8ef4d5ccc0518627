"""Pictures of reports: speedups with their intervals around 1, drawn as page Speedup draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from store.charts import export
from store.errors import UsageError
from store.report.table import Picture, RatioMark

if TYPE_CHECKING:
    from store.charts.drawing import Drawing

_DPI = 100
WIDTH_IN = 9.0
_AROUND_PX = 125
"""Height of the title and the axis above and below the rows, in pixels."""
_LABEL_PX = 400
"""Largest width of the names of rows, in pixels."""
_COLUMNS = ["model", "variant", "backend", "value", "low", "high", "certain", "label", "n", "note", "end"]


def plot_ratios(picture: Picture, title: str, form: str, width: float = WIDTH_IN, height: float = 0.0) -> bytes:
    """Return the picture; it is as high as its rows need, and at least as `height` says.

    Args:
        picture: marks and axis.
        title: lines above the picture.
        form: svg or png.
        width: in inches.
        height: in inches.

    Raises:
        UsageError: there is nothing to draw.
        MissingPackage: a package of the extra `plots` is not installed.
    """
    if not picture.marks:
        raise UsageError("There is nothing to draw: no result has a speedup. Widen the filters.")
    export.require()
    hollow = "" if all(mark.low is not None for mark in picture.marks) else "\nA hollow mark has no 95 % interval."
    return export.picture(ratio_drawing(picture, int(height * _DPI)), int(width * _DPI), title + hollow, form)


def ratio_drawing(picture: Picture, height: int = 0) -> Drawing:
    """Return the chart of marks; it is at least `height` pixels high."""
    from store.charts.ratios import ratio_dots  # noqa: PLC0415 (the extra `plots`)

    labels = list(dict.fromkeys(mark.label for mark in picture.marks))
    frame = pd.DataFrame([_row(mark) for mark in picture.marks], columns=_COLUMNS)
    return ratio_dots(frame, labels, picture.axis, label_px=_LABEL_PX, least_px=(height - _AROUND_PX) // len(labels))


def _row(mark: RatioMark) -> tuple[object, ...]:
    note = "" if mark.n is None else f"n = {mark.n}"
    place = (mark.label, mark.variant, mark.backend)
    return (*place, mark.value, mark.low, mark.high, mark.low is not None, "", note, note, mark.high or mark.value)
