"""Heat map of fallback ops: ops down, models across, colour is the number of calls per iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

if TYPE_CHECKING:
    import pandas as pd

CELL_PX = 24
NUMBERS_UP_TO = 400
"""Most cells that also carry their number as text."""


def fallback_heat(frame: pd.DataFrame, ops: list[str], models: list[str]) -> alt.LayerChart:
    """Draw one cell per op and model; an empty cell means that the model did not call the op on the host.

    Args:
        frame: columns op, model, calls (per iteration), label.
        ops: order of the rows.
        models: order of the columns.
    """
    top = max(float(frame["calls"].max()), 1.0)
    base = alt.Chart(frame).encode(
        x=alt.X(
            "model:N",
            sort=models,
            scale=alt.Scale(domain=models, paddingInner=0.06),
            axis=alt.Axis(title=None, labelAngle=-35, labelLimit=150, ticks=False, domain=False),
        ),
        y=alt.Y(
            "op:N",
            sort=ops,
            scale=alt.Scale(domain=ops, paddingInner=0.06),
            axis=alt.Axis(title=None, labelLimit=240, minExtent=190, ticks=False, domain=False),
        ),
    )
    cells = base.mark_rect(cornerRadius=2).encode(
        color=alt.Color(
            "calls:Q",
            scale=alt.Scale(type="symlog", scheme="viridis", domain=[0, top], reverse=True),
            legend=alt.Legend(title="Calls per iteration", orient="right", gradientLength=120, tickCount=4),
        ),
        tooltip=[
            alt.Tooltip("op:N", title="Op"),
            alt.Tooltip("model:N", title="Model"),
            alt.Tooltip("label:N", title="Calls per iteration"),
        ],
    )
    layers = [cells]
    if len(frame) <= NUMBERS_UP_TO:
        dark_from = 10 ** (0.45 * _log1p10(top)) - 1
        text = base.mark_text(fontSize=11).encode(
            text=alt.Text("calls:Q", format=",.3~r"),
            color=alt.condition(f"datum.calls > {dark_from}", alt.value("white"), alt.value("#222222")),
        )
        layers.append(text)
    return alt.layer(*layers).properties(height=max(CELL_PX * len(ops), CELL_PX * 2))


def _log1p10(value: float) -> float:
    import math

    return math.log10(1 + value)
