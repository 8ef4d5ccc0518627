"""Time up against work across, both logarithmic, with dashed lines of equal rates: a roofline read in seconds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from typing import Literal

HEIGHT_PX = 440
_FONTS: Any = {"labelFontSize": 12, "titleFontSize": 12}
_UNITS = {
    "input_bytes": (
        "Bytes given to the call",
        (
            "datum.value < 1e3 ? format(datum.value, ',.3~r') + ' B' "
            ": datum.value < 1e6 ? format(datum.value / 1e3, ',.3~r') + ' kB' "
            ": datum.value < 1e9 ? format(datum.value / 1e6, ',.3~r') + ' MB' "
            ": format(datum.value / 1e9, ',.3~r') + ' GB'"
        ),
        "GB/s",
    ),
    "flops": (
        "FLOP of the call",
        "datum.value < 1e9 ? format(datum.value / 1e6, ',.3~r') + ' M' : format(datum.value / 1e9, ',.3~r') + ' G'",
        "GFLOP/s",
    ),
}
"""Column → title of its axis, its labels, and the unit of a rate."""


def scatter(frame: pd.DataFrame, column: Literal["input_bytes", "flops"]) -> alt.LayerChart:
    """Draw one mark per result; a hollow one is near its floor.

    Args:
        frame: columns model, variant, backend, work, value (seconds), judged, time, rate.
        column: what the work is.
    """
    title, labels, unit = _UNITS[column]
    low, high = axes.log_domain(frame["work"])
    # Rates are named at the right end.
    across, up = (low, high * (high / low) ** 0.08), axes.log_domain(frame["value"])
    x = alt.X(
        "work:Q",
        scale=alt.Scale(type="log", domain=list(across), nice=False),
        axis=alt.Axis(title=f"{title} (log scale)", labelExpr=labels, values=axes.log_ticks(across), **_FONTS),
    )
    y = axes.log_height("value", up, "Time of one call (log scale; lower is faster)", axes.SHORT_SECONDS)
    lines, names = _equal_rates(across, up, unit)
    diagonals = (
        alt.Chart(lines)
        .mark_line(color=palette.NEUTRAL, strokeWidth=1, strokeDash=[4, 4], clip=True)
        .encode(x=x, y=y, detail="rate:N")
    )
    texts = (
        alt.Chart(names)
        .mark_text(color=palette.NEUTRAL, align="right", dx=-4, dy=-7, fontSize=11)
        .encode(x=x, y=y, text="rate:N")
    )
    return layered(diagonals, texts, _marks(frame, x, y), height=HEIGHT_PX)


def _marks(frame: pd.DataFrame, x: alt.X, y: alt.Y) -> alt.Chart:
    colour, shape, _ = axes.series(frame)
    tooltip = [
        alt.Tooltip("model:N", title="Operator"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("time:N", title="Time of a call"),
        alt.Tooltip("rate:N", title="Rate"),
    ]
    return (
        alt.Chart(frame)
        .mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, fill=axes.filled("datum.judged", colour), tooltip=tooltip)
    )


def _equal_rates(across: tuple[float, float], up: tuple[float, float], unit: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lines of powers of ten that cross the drawing, and where each is named: at its upper right end."""
    slowest, fastest = across[0] / up[1], across[1] / up[0]
    powers = range(math.ceil(math.log10(slowest)), math.floor(math.log10(fastest)) + 1)
    names = [f"{10.0**power / 1e9:g} {unit}" for power in powers]
    ends = [min(across[1], up[1] * 10.0**power) for power in powers]
    lines = pd.DataFrame(
        {
            "rate": [name for name in names for _ in across],
            "work": [work for _ in powers for work in across],
            "value": [work / 10.0**power for power in powers for work in across],
        }
    )
    values = [work / 10.0**power for power, work in zip(powers, ends, strict=True)]
    return lines, pd.DataFrame({"rate": names, "work": ends, "value": values})
