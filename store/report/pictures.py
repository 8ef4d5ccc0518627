"""Pictures of reports: the plots of PyTorch/XLA's aggregator, and speedups with intervals as page Speedup draws them.

Matplotlib draws the former, so that they equal the aggregator's pictures pixel by pixel.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from store.charts import export
from store.errors import MissingPackage, UsageError
from store.report.peer import PeerOptions
from store.report.table import Cell, Picture, RatioMark, Report, Table

if TYPE_CHECKING:
    from store.charts.drawing import Drawing

_RULE_MARKERS = ("D", "o", "s", "v", "x", "+")
_LINES = ("solid", "dotted", "dashed", "dashdot")
_BARS = {"elinewidth": 0.5, "capsize": 3}
_GROUP_WIDTH = 0.70
"""Width of a group of bars; the rest is room between groups."""


class PictureSize(NamedTuple):
    """Size of a picture in inches."""

    width: float = 9.0
    height: float = 6.75


SIZE = PictureSize()


def plot(
    report: Report, options: PeerOptions, names: Sequence[str], form: str, size: PictureSize = SIZE, title: str = ""
) -> bytes:
    """Return the picture of one of the peer's reports, of a size in inches; its legend names the backends in order.

    Raises:
        UsageError: there is nothing to draw.
        MissingPackage: matplotlib is not installed.
    """
    if not report.tables or not report.tables[0].rows:
        raise UsageError("There is nothing to draw: no result fits. Widen --filter, --accelerator or --test.")
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 (the extra `plots`)
    except ImportError:
        raise MissingPackage("Pictures need matplotlib: pip install 'xlabench[plots]'.") from None
    grouped = options.kind == "latest_grouped"
    figure = Figure(figsize=size, layout="constrained" if grouped else None)
    axes = figure.subplots()
    over = f"Speedup over {options.baseline.capitalize()} Benchmarked {names[0]}"
    headline = f"Histogram of {over}" if options.kind == "histogram" else over
    _PLOTTERS[options.kind](axes, report.tables[0], options.backends if grouped else names)
    axes.set_title(f"{headline}\n{title}" if title else headline)
    out = io.BytesIO()
    figure.savefig(out, format=form)
    return out.getvalue()


def _numbers(rows: Sequence[tuple[Cell, ...]], column: int) -> list[float]:
    return [math.nan if (cell := row[column]) is None else float(cell) for row in rows]  # type: ignore[arg-type]


def _speedup(axes: Any, table: Table, names: Sequence[str]) -> None:
    """Draw one line per backend over time, with error bars."""
    axes.axhline(y=1.0, color="lightgray")
    for index, name in enumerate(names):
        values, errors = (_numbers(table.rows, 1 + 2 * index + part) for part in (0, 1))
        marker = _RULE_MARKERS[index % len(_RULE_MARKERS)]
        axes.errorbar([row[0] for row in table.rows], values, errors, marker=marker, label=name, **_BARS)
    _dates(axes)


def _histogram(axes: Any, table: Table, names: Sequence[str]) -> None:
    """Draw three lines per backend over time: percentiles 95, 50 and 5."""
    axes.axhline(y=1.0, color="lightgray")
    per_backend = (len(table.columns) - 1) // len(names)
    for index, column in enumerate(table.columns[1:]):
        style = index // per_backend
        axes.plot(
            [row[0] for row in table.rows],
            _numbers(table.rows, 1 + index),
            label=column.title,
            marker=_RULE_MARKERS[style % len(_RULE_MARKERS)],
            linestyle=_LINES[style % len(_LINES)],
        )
    _dates(axes)


def _dates(axes: Any) -> None:
    from matplotlib.dates import ConciseDateFormatter  # noqa: PLC0415 (as above)

    axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator()))
    axes.legend()
    axes.set_xlabel("Date")
    axes.set_ylabel("Geomean Speedup")


def _latest(axes: Any, table: Table, names: Sequence[str]) -> None:
    """Draw one ascending curve per backend, each point with the name of its model."""
    axes.axhline(y=1.0, color="lightgray")
    for index, name in enumerate(names):
        value, error, model = (1 + 3 * index + part for part in range(3))
        rows = [row for row in table.rows if row[value] is not None]
        marker = _RULE_MARKERS[index % len(_RULE_MARKERS)]
        values = _numbers(rows, value)
        axes.errorbar(list(range(len(rows))), values, _numbers(rows, error), label=name, marker=marker, **_BARS)
        for rank, row in enumerate(rows):
            # Two curves may run close together: one has its names above, the other below, all of them transparent.
            note = axes.annotate(
                row[model],
                (rank, values[rank]),
                rotation=45,
                size=5.0,
                verticalalignment=("bottom", "top")[index % 2],
                horizontalalignment=("left", "right")[index % 2],
            )
            note.set_alpha(0.5)
    axes.legend()
    axes.set_xlabel("Workload Number")
    axes.set_ylabel("Speedup")


def _latest_grouped(axes: Any, table: Table, names: Sequence[str]) -> None:
    """Draw a group of bars per model from top to bottom, the geometric mean last."""
    axes.axvline(x=1.0, color="lightgray")
    middles = [len(table.rows) - index for index in range(len(table.rows))]
    width = _GROUP_WIDTH / len(names)
    for index, name in enumerate(names):
        values, errors = (_numbers(table.rows, 1 + 2 * index + part) for part in (0, 1))
        rounded = [value if math.isnan(value) else round(value, 2) for value in values]
        places = [middle - width * index for middle in middles]
        axes.bar_label(axes.barh(places, rounded, width, label=name, xerr=errors))
    axes.legend()
    axes.set_xlabel("Speedup")
    axes.set_ylabel("Workload")
    axes.set_yticks([y - (len(names) - 1) * width / 2.0 for y in middles], [row[0] for row in table.rows])
    axes.margins(y=0)
    axes.set_xlim(left=0)


_PLOTTERS: dict[str, Callable[[Any, Table, Sequence[str]], None]] = {
    "speedup": _speedup,
    "histogram": _histogram,
    "latest": _latest,
    "latest_grouped": _latest_grouped,
}


_DPI = 100
WIDTH_IN = 9.0
_AROUND_PX = 125
"""Height of the title and the axis above and below the rows, in pixels."""
_LABEL_PX = 400
"""Largest width of the names of rows, in pixels."""
_COLUMNS = ["model", "variant", "backend", "value", "low", "high", "certain", "label", "n", "note", "end"]


def plot_ratios(picture: Picture, title: str, form: str, width: float = WIDTH_IN, height: float = 0.0) -> bytes:
    """Return the picture, measured in inches; it is as high as its rows need, and at least as `height` says.

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
