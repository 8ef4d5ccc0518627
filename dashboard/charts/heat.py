"""Heat map of fallback ops: ops down, grouped by class, models across; colour is calls, or share of time.

Each class has a colour of its own, so that ops to lower and host reads are never read as one scale.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt

from dashboard.charts import axes, drawing
from dashboard.charts.axes import PICKED
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered
from dashboard.words import CLASSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

CELL_PX = 26
NUMBERS_UP_TO = 300
"""Most cells that also carry their number as text."""

_SCHEMES = {
    "no_lowering": ("#FBE3D6", "#B8320E"),
    "opt_in_lowering": ("#FFF0C2", "#A97400"),
    "host_read": ("#DCE6F5", "#2B5FA8"),
}
_LIGHT_UNTIL = 0.55
_LEGENDS: dict[str, Any] = {
    "legend": {
        "layout": {
            "top": {
                "anchor": "start",
                "direction": {"signal": f"{axes.PHONE} ? 'vertical' : 'horizontal'"},
            }
        }
    }
}
"""Legends next to each other; on a telephone below each other."""


def fallback_heat(frame: pd.DataFrame, ops: Sequence[str], models: Sequence[str], *, as_share: bool = False) -> Drawing:
    """Draw one cell per op and model; no cell means that the model did not call the op on the host.

    Args:
        frame: columns op, model, klass, value (calls per iteration, or share of time), label.
        ops: order of the rows, classes together.
        models: order of the columns.
        as_share: whether the values are shares of time.
    """
    present = tuple(name for name in CLASSES if (frame["klass"] == name).any())
    strongest = {klass: _strongest(frame.loc[frame["klass"] == klass, "value"], as_share=as_share) for klass in present}
    rows = frame.assign(
        down=_places(frame["op"], ops),
        across=_places(frame["model"], models),
        dark=frame["value"] > frame["klass"].map(strongest) * _LIGHT_UNTIL,
    )
    return Drawing(_spec(present, numbered=len(frame) <= NUMBERS_UP_TO, as_share=as_share), rows)


def _strongest(values: pd.Series, *, as_share: bool) -> float:
    """Return the value of the strongest colour, as the scale of `_colour` has it."""
    most = values.max()
    return max(float(most), _least(as_share=as_share)) if most == most else _least(as_share=as_share)  # noqa: PLR0124 - NaN


def _least(*, as_share: bool) -> float:
    """Return the least value that the strongest colour may stand for: one call, or a ten-thousandth of the time."""
    return 1e-4 if as_share else 1.0


def _places(names: pd.Series, order: Sequence[str]) -> pd.Series:
    return names.map({name: place for place, name in enumerate(order)})


@lru_cache(maxsize=16)
def _spec(present: tuple[str, ...], *, numbered: bool, as_share: bool) -> dict[str, Any]:
    title = "Share of the iteration's time" if as_share else "Calls per iteration"
    layers: list[alt.Chart] = []
    for klass in present:
        base = drawing.points().transform_filter(f"datum.klass === '{klass}'").encode(x=_across(), y=_down())
        cells = base.mark_rect(cornerRadius=2, cursor="pointer").encode(
            color=_colour(klass, as_share=as_share), tooltip=_tooltip(title)
        )
        layers.append(cells if layers else cells.add_params(_pick()))
        if numbered:
            ink = alt.condition("datum.dark", alt.value("white"), alt.value("#222222"))
            layers.append(base.mark_text(fontSize=11).encode(text="label:N", color=ink))
    apart = alt.Resolve(scale={"color": "independent"})
    return drawing.specified(layered(*layers, height=axes.steps(CELL_PX), resolve=apart)) | {"config": _LEGENDS}


def _pick() -> alt.Parameter:
    return alt.selection_point(name=PICKED, fields=["op", "model"], empty=False)


def _across() -> alt.X:
    return alt.X(
        "model:N",
        sort=alt.EncodingSortField(field="across", op="min"),
        scale=alt.Scale(paddingInner=0.06),
        axis=alt.Axis(
            title=None,
            labelAngle=-35,
            labelLimit=110,
            labelFontSize=12,
            labelOverlap=False,  # each column needs its name
            ticks=False,
            domain=False,
        ),
    )


def _down() -> alt.Y:
    return alt.Y(
        "op:N",
        sort=alt.EncodingSortField(field="down", op="min"),
        scale=alt.Scale(paddingInner=0.06),
        axis=alt.Axis(
            title=None,
            labelLimit=axes.names_px(180),
            labelFontSize=12,
            labelOverlap=False,
            minExtent=axes.names_px(140),
            ticks=False,
            domain=False,
        ),
    )


def _colour(klass: str, *, as_share: bool) -> alt.Color:
    """Return the colours of a class, from 0 to the largest of its values that are drawn."""
    ends = alt.DomainUnionWith(unionWith=[0, _least(as_share=as_share)])
    return alt.Color(
        "value:Q",
        scale=alt.Scale(type="linear", range=list(_SCHEMES[klass]), domain=ends, nice=False),
        legend=alt.Legend(
            title=CLASSES[klass][0],
            orient="top",
            gradientLength=90,
            gradientThickness=8,
            tickCount=2,
            titleFontSize=12,
            format=".1%" if as_share else "~r",
        ),
    )


def _tooltip(title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("op:N", title="Op"),
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("label:N", title=title),
    ]
