"""Axes and encodings that several charts use."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from store.charts import drawing, palette
from store.charts.drawing import legend

if TYPE_CHECKING:
    import pandas as pd

ROW_PX = 13
DENSE_ROW_PX = 9
"""Height in pixels of the row of one variant of one model; `DENSE_ROW_PX` applies from `DENSE_FROM` models on."""

DENSE_FROM = 20
"""Number of models from which rows have the height `DENSE_ROW_PX`."""

GEOMEAN = "geomean"
"""Name of the row that holds the geometric means."""

PICKED = "picked"
"""Name of the selection in charts whose points open a page."""

MODEL_FIELDS = ["suite", "model", "test"]
"""Fields that identify a model."""

LABEL_PX = 190
"""Width for model names in pixels, the same in each chart, so that charts above one another are aligned."""


_WIDE = 8
"""Ratio of the ends of a time axis above which ticks at 1, 2 and 5 are enough."""


def ratio_domain(values: Iterable[float]) -> tuple[float, float]:
    """Return a domain that is symmetric around 1 on a log axis and holds every value; at least 0.8 to 1.25.

    Its end is one of a few values, so that charts of similar data have the same axis.
    """
    reach = max((abs(math.log(v)) for v in values if v and v > 0 and math.isfinite(v)), default=0.0)
    limit = math.exp(reach * 1.03)
    end = next((candidate for candidate in _ENDS if limit <= candidate), limit)
    return 1 / end, end


_ENDS = (
    1.25,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.5,
    8.0,
    10.0,
    13.0,
    16.0,
    20.0,
    30.0,
    40.0,
    60.0,
    100.0,
    200.0,
    400.0,
    1e3,
)


def ratio_ticks(domain: tuple[float, float]) -> list[float]:
    """Return at most nine ticks: 1 and pairs v, 1/v; they are coarser on a longer axis."""
    _, high = domain
    _, steps = next(entry for entry in _STEPS if high <= entry[0])
    above = [step for step in steps if step <= high * 1.001]
    return sorted({1.0, *above, *(1 / step for step in above)})


_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1.5, (1.1, 1.25, 1.5)),
    (3.0, (1.25, 1.5, 2.0, 3.0)),
    (10.0, (1.5, 2.0, 3.0, 5.0, 10.0)),
    (40.0, (2.0, 5.0, 10.0, 20.0)),
    (400.0, (3.0, 10.0, 30.0, 100.0)),
    (math.inf, (10.0, 100.0, 1e3, 1e4)),
)
"""Largest end of the axis → its ticks above 1."""


_IS_MEAN = f"datum.value === '{GEOMEAN}' || indexof(datum.value, '{GEOMEAN.upper()} ') === 0"
"""Test of Vega for the row of means; reports append to its name which models it covers."""
_BOLD_GEOMEAN: Any = {"condition": {"test": _IS_MEAN, "value": "bold"}, "value": "normal"}


Side = Literal["top", "bottom"]
_TALL_PX = 250
"""Height of rows in pixels beyond which the axis is above them, because the end of the chart may be out of sight."""


def side_of_axis(rows: int, row_px: int) -> Side:
    """Return where the axis of a chart of so many rows of this height is."""
    return "top" if rows * row_px > _TALL_PX else "bottom"


def ratio_axis(column: str, domain: tuple[float, float], title: str, orient: Side = "bottom") -> alt.X:
    """Return a logarithmic x encoding of a column, centred on 1."""
    return alt.X(f"{column}:Q", scale=_log(domain), axis=_ratios(domain, title, orient))


def ratio_height(domain: tuple[float, float], title: str) -> alt.Y:
    """Return a logarithmic y encoding of column `value`, centred on 1."""
    return alt.Y("value:Q", scale=_log(domain), axis=_ratios(domain, title, "left"))


def _log(domain: tuple[float, float]) -> alt.Scale:
    return alt.Scale(type="log", domain=list(domain), nice=False)


def _ratios(domain: tuple[float, float], title: str, orient: Literal["top", "bottom", "left"]) -> alt.Axis:
    return alt.Axis(
        title=title,
        orient=orient,
        titleAnchor=title_anchor(),
        values=ratio_ticks(domain),
        labelExpr="format(datum.value, datum.value < 0.1 ? '.2~g' : '.2~f') + '\N{MULTIPLICATION SIGN}'",
        labelFontSize=12,
        titleFontSize=12,
        grid=True,
    )


SECONDS = "datum.value < 1 ? format(datum.value * 1000, '~r') + ' ms' : format(datum.value, ',~r') + ' s'"
"""Labels of an axis in seconds."""
SHORT_SECONDS = (
    "datum.value < 0.001 ? format(datum.value * 1000000, '~r') + ' µs' : datum.value < 1 "
    "? format(datum.value * 1000, '~r') + ' ms' : format(datum.value, ',~r') + ' s'"
)
"""Labels of seconds from microseconds on."""
NUMBERS = "format(datum.value, ',~r')"
"""Labels of an axis of counts."""


def log_domain(values: Iterable[float]) -> tuple[float, float]:
    """Return a domain that contains every value, with a margin at both ends."""
    numbers = list(values)
    return min(numbers) / 1.25, max(numbers) * 1.25


def round_domain(values: Iterable[float]) -> tuple[float, float]:
    """Return a domain that contains every value and ends at 1, 2 or 5 times powers of ten."""
    low, high = log_domain(values)
    return _step_at_most(low), 1 / _step_at_most(1 / high)


def _step_at_most(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value * (1 + 1e-9))


def is_wide(domain: tuple[float, float]) -> bool:
    """Tell whether ticks at 1, 2 and 5 times powers of ten are enough for a domain."""
    low, high = domain
    return high / low > _WIDE


def log_ticks(domain: tuple[float, float], *, wide: bool | None = None) -> list[float]:
    """Return ticks of a logarithmic axis: at 1, 2 and 5 times powers of ten, as far as there is room.

    Args:
        domain: range of the ticks.
        wide: whether these ticks are enough; None: the domain decides.
    """
    low, high = domain
    few = is_wide(domain) if wide is None else wide
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in ((1, 2, 5) if few else range(1, 10))]
    if high / low > 10**4:
        ticks = [10.0**power for power in powers]
    return [tick for tick in ticks if low <= tick <= high]


def log_axis(domain: tuple[float, float], title: str, labels: str = SECONDS, orient: Side = "bottom") -> alt.X:
    """Return a logarithmic x encoding of `value`; `labels` is SECONDS or NUMBERS."""
    return alt.X("value:Q", scale=_log(domain), axis=_plain(domain, title, labels, orient))


def log_height(column: str, domain: tuple[float, float], title: str, labels: str = SECONDS) -> alt.Y:
    """Return a logarithmic y encoding of a column; `labels` is SECONDS or NUMBERS."""
    return alt.Y(f"{column}:Q", scale=_log(domain), axis=_plain(domain, title, labels, "left"))


def _plain(domain: tuple[float, float], title: str, labels: str, orient: Literal["top", "bottom", "left"]) -> alt.Axis:
    return alt.Axis(
        title=title,
        orient=orient,
        titleAnchor=title_anchor(),
        values=log_ticks(domain),
        labelExpr=labels,
        labelFontSize=12,
        titleFontSize=12,
    )


def title_anchor() -> Any:
    """Return the anchor of an axis title: on a telephone it is longer than the axis, and both end at the same point."""
    return alt.ExprRef(f"{drawing.PHONE} ? 'end' : 'middle'")


def names_px(most: int) -> Any:
    """Return the width for names at the left of a chart; on a telephone it is less than a third of the window."""
    return alt.ExprRef(f"min({most}, 0.3 * windowSize()[0])")


def pick() -> alt.Parameter:
    """Return the selection of a chart whose points open their model (`opening`)."""
    return alt.selection_point(name=PICKED, fields=MODEL_FIELDS, empty=False)


def doubt_marks(x: alt.X, **place: Any) -> alt.Chart:
    """Return the marks beside doubtful points, from column `doubt`, in the colour of their point: others are close."""
    base = drawing.points().transform_filter("datum.doubt").mark_text(dx=11, dy=-5, fontSize=14, fontWeight="bold")
    return base.encode(x=x, text="doubt:N", **place)


_LINE_PX = 11


def name_lines(between: str, most: int) -> dict[str, Any]:
    """Return properties of labels that break them into lines on a telephone, where there is no room for one line.

    Args:
        between: regular expression of the place of a line break; its match begins the next line.
        most: largest number of lines of a label.
    """
    lines = f"split(replace(datum.label, regexp('({between})', 'g'), '\\n$1'), '\\n')"
    return {
        "labelExpr": f"{drawing.PHONE} ? {lines} : datum.label",
        "labelFontSize": alt.ExprRef(f"{drawing.PHONE} ? 10 : 12"),
        "labelLineHeight": _LINE_PX,
        "labelOffset": alt.ExprRef(f"{drawing.PHONE} ? {-_LINE_PX * (most - 1) / 2:g} : 0"),
    }


def model_axis(label_px: int = LABEL_PX, between: str = "", least_px: int | None = None) -> alt.Y:
    """Return a y encoding of `model` in the order of `place`; long names end in an ellipsis, the tooltip is complete.

    Args:
        label_px: largest width of the names.
        between: place of a line break of a name on a telephone (`name_lines`); empty: names have one line.
        least_px: smallest width that is reserved for them; None: `label_px`.
    """
    return alt.Y(
        "model:N",
        sort=alt.EncodingSortField(field="place", op="min"),
        axis=alt.Axis(
            title=None,
            labelLimit=names_px(label_px),
            labelFontWeight=_BOLD_GEOMEAN,
            **(name_lines(between, 3) if between else {"labelFontSize": 12}),
            minExtent=names_px(label_px if least_px is None else least_px),
            ticks=False,
            domain=False,
            grid=True,
        ),
        scale=alt.Scale(paddingInner=0.25, paddingOuter=0.15),
    )


def series(frame: pd.DataFrame) -> tuple[alt.Color, alt.Shape, alt.YOffset]:
    """Return colour, shape and row of each variant of a frame."""
    return looks(zip(frame["variant"], frame["backend"], strict=True))


def looks(pairs: Iterable[tuple[str, str]]) -> tuple[alt.Color, alt.Shape, alt.YOffset]:
    """Return colour, shape and row of each pair of variant and backend."""
    domain, colours, shapes = palette.scale(pairs)
    variants_legend = legend(domain, symbolSize=90, symbolFillColor=None)
    return (
        alt.Color("variant:N", scale=alt.Scale(domain=domain, range=colours), legend=variants_legend),
        alt.Shape("variant:N", scale=alt.Scale(domain=domain, range=shapes), legend=variants_legend),
        alt.YOffset("variant:N", sort=domain, scale=alt.Scale(domain=domain)),
    )


def filled(test: str, colour: alt.Color) -> alt.FillValue:
    """Return a fill with the colour where a test is true; other marks are hollow.

    Args:
        test: an expression of Vega over `datum`.
        colour: of the marks, with a field. `alt.condition` gives the same result, but slowly.
    """
    return alt.FillValue("rgba(0, 0, 0, 0)", condition={"test": test} | colour.to_dict())


def row_px(models: int, variants: int) -> int:
    """Return the height in pixels of the rows of one model in a chart with one row per model and variant."""
    row = ROW_PX if models < DENSE_FROM else DENSE_ROW_PX
    return max(row + 9, variants * row)


def steps(px: int) -> alt.Step:
    """Return the height of a chart with `px` pixels for each model."""
    return alt.Step(px, **{"for": "position"})
