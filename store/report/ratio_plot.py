"""A picture of speedups: one row per model, a dot per variant with its interval, on a logarithmic axis around 1."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from store.errors import UsageError
from store.report.colours import colour
from store.report.peer_plot import SIZE, Size, figure_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.report.table import Mark, Picture

_ROW_IN = 0.13
"""Height of a dot's row, in inches."""
_MARGIN_IN = 1.6
_SPREAD = 0.7
"""Part of a row's height over which its variants are spread."""
_MARKERS = ("o", "s", "^", "D", "v", "P")
_FINE = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3)
_COARSE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_FEW = 3.0
"""Up to this ratio the ticks stand close together."""


def plot_ratios(picture: Picture, title: str, form: str, size: Size = SIZE) -> bytes:
    """Return the picture; it is as high as its rows need, and at least as `size` says.

    Raises:
        UsageError: there is nothing to draw.
        MissingPackage: matplotlib is not installed.
    """
    if not picture.marks:
        raise UsageError("There is nothing to draw: no result has a speedup. Widen the filters.")
    labels = list(dict.fromkeys(mark.label for mark in picture.marks))
    variants = sorted({(mark.variant, mark.backend) for mark in picture.marks})
    height = max(size.height, _MARGIN_IN + _ROW_IN * len(labels) * (1 + len(variants)))
    figure = figure_class()(figsize=(size.width, height), layout="constrained")
    axes = figure.subplots()
    axes.axvline(x=1.0, color="gray", linestyle="dashed", linewidth=1)
    for index, (variant, backend) in enumerate(variants):
        offset = (index - (len(variants) - 1) / 2) * _SPREAD / len(variants)
        marks = [mark for mark in picture.marks if mark.variant == variant]
        _draw(axes, marks, [labels.index(mark.label) + offset for mark in marks], colour(backend), index)
    _dress(axes, labels, picture)
    axes.set_title(title)
    out = io.BytesIO()
    figure.savefig(out, format=form)
    return out.getvalue()


def _draw(axes: Any, marks: Sequence[Mark], places: Sequence[float], tone: str, index: int) -> None:
    values = [mark.value for mark in marks]
    lows = [0.0 if mark.low is None else mark.value - mark.low for mark in marks]
    highs = [0.0 if mark.high is None else mark.high - mark.value for mark in marks]
    marker = _MARKERS[index % len(_MARKERS)]
    axes.errorbar(values, places, xerr=[lows, highs], fmt=marker, markersize=5, color=tone, label=marks[0].variant)
    for mark, place in zip(marks, places, strict=True):
        if mark.n is not None:
            end = (mark.high or mark.value, place)
            axes.annotate(f"n = {mark.n}", end, xytext=(6, 0), textcoords="offset points", size=7, va="center")


def _dress(axes: Any, labels: Sequence[str], picture: Picture) -> None:
    reach = max(abs(math.log(value)) for mark in picture.marks for value in (mark.value, mark.low, mark.high) if value)
    widest = math.exp(1.1 * max(reach, math.log(1.1)))
    axes.set_xscale("log")
    axes.set_xlim(1 / widest, widest)
    ticks = _FINE if widest < _FEW else _COARSE
    near = [tick for tick in ticks if 1 / widest <= tick <= widest]
    axes.set_xticks(near, [f"{tick:g}" for tick in near])
    axes.minorticks_off()
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"{picture.axis}; above 1 is faster")
    axes.figure.legend(loc="outside lower center", ncols=4, frameon=False)
