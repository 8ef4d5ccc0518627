"""Heat map of fallback ops: ops down, grouped by class, models across; colour is calls, or share of time.

Each class has a colour of its own, so that ops to lower and host reads are never read as one scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard.charts import axes
from dashboard.charts.axes import PICKED
from dashboard.charts.layering import layered
from dashboard.words import CLASSES

if TYPE_CHECKING:
    import pandas as pd

CELL_PX = 26
CHROME_PX = 195
"""Room for legends and slanted names: Streamlit fits a chart with both into its height."""
NUMBERS_UP_TO = 300
"""Most cells that also carry their number as text."""

_SCHEMES = {
    "no_lowering": ("#FBE3D6", "#B8320E"),
    "opt_in_lowering": ("#FFF0C2", "#A97400"),
    "host_read": ("#DCE6F5", "#2B5FA8"),
}
_LIGHT_UNTIL = 0.55


def fallback_heat(frame: pd.DataFrame, ops: list[str], models: list[str], *, as_share: bool = False) -> alt.LayerChart:
    """Draw one cell per op and model; no cell means that the model did not call the op on the host.

    Args:
        frame: columns op, model, klass, value (calls per iteration, or share of time), label.
        ops: order of the rows, classes together.
        models: order of the columns.
        as_share: whether the values are shares of time.
    """
    title = "Share of the iteration's time" if as_share else "Calls per iteration"
    layers: list[alt.Chart] = []
    for klass in [name for name in CLASSES if (frame["klass"] == name).any()]:
        part = frame[frame["klass"] == klass]
        top = _top(part, as_share=as_share)
        base = alt.Chart(part.assign(dark=part["value"] > top * _LIGHT_UNTIL)).encode(x=_across(models), y=_down(ops))
        cells = base.mark_rect(cornerRadius=2, cursor="pointer").encode(
            color=_colour(klass, top, as_share=as_share), tooltip=_tooltip(title)
        )
        layers.append(cells if layers else cells.add_params(_pick()))
        if len(frame) <= NUMBERS_UP_TO:
            ink = alt.condition("datum.dark", alt.value("white"), alt.value("#222222"))
            layers.append(base.mark_text(fontSize=11).encode(text="label:N", color=ink))
    apart = alt.Resolve(scale={"color": "independent"})
    return layered(*layers, height=CHROME_PX + CELL_PX * len(ops), resolve=apart)


def _top(part: pd.DataFrame, *, as_share: bool) -> float:
    """Return the value of the strongest colour; without a known value any."""
    known = part["value"].dropna()
    most = float(known.max()) if len(known) else 0.0
    return most or 1.0 if as_share else max(most, 1.0)


def _pick() -> alt.Parameter:
    return alt.selection_point(name=PICKED, fields=["op", "model"], empty=False)


def _across(models: list[str]) -> alt.X:
    return alt.X(
        "model:N",
        sort=models,
        scale=alt.Scale(domain=models, paddingInner=0.06),
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


def _down(ops: list[str]) -> alt.Y:
    return alt.Y(
        "op:N",
        sort=ops,
        scale=alt.Scale(domain=ops, paddingInner=0.06),
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


def _colour(klass: str, top: float, *, as_share: bool) -> alt.Color:
    return alt.Color(
        "value:Q",
        scale=alt.Scale(type="linear", range=list(_SCHEMES[klass]), domain=[0, top]),
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
