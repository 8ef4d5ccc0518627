"""Heat maps with a text in each cell: speedups of models by backend, and calls of fallback ops by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt

from store.charts import axes, drawing
from store.charts.axes import PICKED
from store.charts.drawing import Drawing, layered

if TYPE_CHECKING:
    import pandas as pd


def _ordered(channel: type[Any], name: str, by: str, padding: float, **axis: Any) -> Any:
    """Return an encoding of names in the order of column `by`; its axis is the names alone."""
    return channel(
        f"{name}:N",
        sort=alt.EncodingSortField(field=by, op="min"),
        scale=alt.Scale(paddingInner=padding),
        axis=alt.Axis(title=None, labelFontSize=12, ticks=False, domain=False, **axis),
    )


def _cells(base: alt.Chart, colour: alt.Color, tooltip: Sequence[alt.Tooltip]) -> alt.Chart:
    return base.mark_rect(cornerRadius=2, cursor="pointer").encode(color=colour, tooltip=list(tooltip))


def _texts(base: alt.Chart, size: float, opacity: Any = 1) -> alt.Chart:
    """Return the texts of cells, readable on their colours; column `dark` tells which cells have a strong one.

    Faint cells let the background through, so that their texts have the colour of the page's own text.
    """
    ink = alt.condition("datum.dark", alt.value("white"), alt.value("currentColor"))
    return base.mark_text(fontSize=size, opacity=opacity).encode(text="label:N", color=ink)


ROW_PX, DENSE_ROW_PX, DENSE_FROM = 22, 17, 40
"""Height of a row of models, its height where there are many rows, and the most rows that are not many."""
NAME_SPLIT = "\x1f"
"""End of the part of a row's text that only sorts; the head of a group has none."""
_SPLIT_IN_VEGA = "\\u001f"
STRONG = 0.6
"""Binary logarithm from which a cell is dark enough for white text."""
_SHADES = (
    "rgba(184, 50, 14, 1)",
    "rgba(184, 50, 14, 0.32)",
    "rgba(128, 128, 128, 0.08)",
    "rgba(14, 122, 85, 0.33)",
    "rgba(14, 122, 85, 1)",
)
"""Colours of: half as fast or slower, a little slower, no difference, a little faster, twice as fast or faster.

The smaller the difference, the more of the background shows, so that it recedes on a light and on a dark page; a small
one is still told from none on a dark page, where the green is hardly lighter than the background.
"""
_ENDS = (-1.0, -0.06, 0.0, 0.06, 1.0)
"""Binary logarithms of the ratios of those colours."""
_IN_PARTS = "windowSize()[0] < 640 ? split(replace(datum.label, '+', '+ '), ' ') : datum.label"
"""A telephone has room for a part of `openxla+lazytensor` in a line."""


def row_px(rows: int) -> int:
    """Return the height of a row of models."""
    return DENSE_ROW_PX if rows > DENSE_FROM else ROW_PX


def speedup_heat(frame: pd.DataFrame, rows: Sequence[str], series: Sequence[str]) -> Drawing:
    """Draw one cell per model and backend.

    Args:
        frame: columns row (text of the row), series, shade (binary logarithm of the speedup, 0 where no difference is
            shown, missing where there is no speedup), label, why, suite, model, test.
        rows: their order; the head of a group has one cell without label.
        series: order of the columns.
    """
    placed = frame.assign(
        place=_places(frame["row"], rows),
        across=_places(frame["series"], series),
        dark=frame["shade"].abs() > STRONG,
    )
    return Drawing(_speedup_spec(row_px(len(rows))), placed)


@lru_cache(maxsize=4)
def _speedup_spec(row_px: int) -> dict[str, Any]:
    names = {"labelExpr": _IN_PARTS, "labelOverlap": False, "labelLimit": 220}
    bold = {"test": f"split(datum.value, '{_SPLIT_IN_VEGA}')[0] == ''", "value": "bold"}
    x = _ordered(alt.X, "series", "across", 0.02, orient="top", labelAngle=0, **names)
    y = _ordered(
        alt.Y,
        "row",
        "place",
        0.08,
        labelExpr=f"split(datum.value, '{_SPLIT_IN_VEGA}')[1]",
        labelFontWeight={"condition": bold, "value": "normal"},
        labelLimit=axes.names_px(240),
        labelOverlap=False,
    )
    base = drawing.points().encode(x=x, y=y)
    known = base.transform_filter("isValid(datum.shade)")
    scale = alt.Scale(domain=list(_ENDS), range=list(_SHADES), clamp=True)
    tooltip = drawing.tooltip(model="Model", series="Backend", label="Speedup", why="What it says")
    cells = _cells(known, alt.Color("shade:Q", scale=scale, legend=None), tooltip).add_params(axes.pick())
    others = (
        base.transform_filter("!isValid(datum.shade)")
        .mark_text(fontSize=11.5, color="#B0744A")
        .encode(text="label:N", tooltip=tooltip)
    )
    return drawing.specified(layered(cells, _texts(known, 11.5), others, height=axes.steps(row_px)))


CELL_PX = 26
_FEW = 2
"""Most models whose names have room beside each other; the names of more models are turned."""
_UPRIGHT_FROM = 24
"""Most models whose turned names do not overlap; the names of more models are upright."""
NUMBERS_UP_TO = 300
"""Most cells that also carry their number as text."""
_IF_ROOM = "bandwidth('x') < 10 ? 0 : 1"
"""Opacity of the numbers: on a telephone, columns of many models are narrower than a number."""

_SCHEMES = {
    "no_lowering": ("rgba(184, 50, 14, 0.14)", "rgba(184, 50, 14, 1)"),
    "opt_in_lowering": ("rgba(169, 116, 0, 0.2)", "rgba(169, 116, 0, 1)"),
    "host_read": ("rgba(43, 95, 168, 0.16)", "rgba(43, 95, 168, 1)"),
}
"""Class of ops → colours of its smallest and its largest value; small values recede as in the other heat map."""
_LIGHT_UNTIL = 0.55
_LEGENDS: dict[str, Any] = {
    "legend": {
        "layout": {
            "top": {
                "anchor": "start",
                "direction": {"signal": f"{drawing.PHONE} ? 'vertical' : 'horizontal'"},
            }
        }
    }
}
"""Layout of the legends: side by side, and on a telephone one below the other."""


def fallback_heat(
    frame: pd.DataFrame,
    ops: Sequence[str],
    models: Sequence[str],
    classes: Mapping[str, str],
    *,
    as_share: bool = False,
) -> Drawing:
    """Draw one cell per op and model; no cell means that the model did not call the op on the host.

    Args:
        frame: columns op, model, klass, value (calls per iteration, or share of time), label.
        ops: order of the rows, classes together.
        models: order of the columns.
        classes: class of ops → its name in the legend.
        as_share: whether the values are shares of time.
    """
    present = tuple((klass, title) for klass, title in classes.items() if (frame["klass"] == klass).any())
    strongest = {
        klass: _strongest(frame.loc[frame["klass"] == klass, "value"], as_share=as_share) for klass, _ in present
    }
    rows = frame.assign(
        down=_places(frame["op"], ops),
        across=_places(frame["model"], models),
        dark=frame["value"] > frame["klass"].map(strongest) * _LIGHT_UNTIL,
    )
    few = len(models) if len(models) <= _FEW else 0
    upright, numbered = len(models) > _UPRIGHT_FROM, len(frame) <= NUMBERS_UP_TO
    return Drawing(_fallback_spec(present, few, upright=upright, numbered=numbered, as_share=as_share), rows)


def _strongest(values: pd.Series, *, as_share: bool) -> float:
    """Return the value that the scale of `_colour` gives its strongest colour."""
    most = values.max()
    return max(float(most), _least(as_share=as_share)) if most == most else _least(as_share=as_share)  # noqa: PLR0124 - NaN


def _least(*, as_share: bool) -> float:
    """Return the least value that the strongest colour may stand for: one call, or a ten-thousandth of the time."""
    return 1e-4 if as_share else 1.0


@lru_cache(maxsize=16)
def _fallback_spec(
    present: tuple[tuple[str, str], ...], few: int, *, upright: bool, numbered: bool, as_share: bool
) -> dict[str, Any]:
    what = "Share of the iteration's time" if as_share else "Calls per iteration"
    tooltip = drawing.tooltip(op="Op", model="Model", label=what)
    widths = {"labelLimit": axes.names_px(180), "minExtent": axes.names_px(140)}
    down = _ordered(alt.Y, "op", "down", 0.06, labelOverlap=False, **widths)
    layers: list[alt.Chart] = []
    for klass, title in present:
        base = drawing.points().transform_filter(f"datum.klass === '{klass}'")
        base = base.encode(x=_models_across(few, upright=upright), y=down)
        cells = _cells(base, _colour(klass, title, as_share=as_share), tooltip)
        pick = alt.selection_point(name=PICKED, fields=["op", "model"], empty=False)
        layers.append(cells if layers else cells.add_params(pick))
        if numbered:
            layers.append(_texts(base, 11, alt.ExprRef(_IF_ROOM)))
    apart = alt.Resolve(scale={"color": "independent"})
    return drawing.specified(layered(*layers, height=axes.steps(CELL_PX), resolve=apart)) | {"config": _LEGENDS}


def _models_across(few: int, *, upright: bool) -> alt.X:
    names: dict[str, Any] = {"labelAngle": -90 if upright else -35, "labelLimit": 110}
    if few:
        names = {"labelAngle": 0, "labelLimit": alt.ExprRef(f"width / {few}")}
    # Each column has its name where there is room for it.
    return _ordered(alt.X, "model", "across", 0.06, labelOverlap="parity" if upright else False, **names)


def _colour(klass: str, title: str, *, as_share: bool) -> alt.Color:
    """Return the colour scale of a class, from 0 to its largest drawn value."""
    ends = alt.DomainUnionWith(unionWith=[0, _least(as_share=as_share)])
    return alt.Color(
        "value:Q",
        scale=alt.Scale(type="linear", range=list(_SCHEMES[klass]), domain=ends, nice=False),
        legend=alt.Legend(
            title=title,
            orient="top",
            gradientLength=90,
            gradientThickness=8,
            tickCount=2,
            titleFontSize=12,
            format=".1%" if as_share else "~r",
        ),
    )


def _places(names: pd.Series, order: Sequence[str]) -> pd.Series:
    return names.map({name: place for place, name in enumerate(order)})
