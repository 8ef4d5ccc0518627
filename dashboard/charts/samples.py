"""Every timed block of a result in its order: milliseconds on a log axis, phases by shape, compilation marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

HEIGHT_PX = 320
PHASES = {"first": ("triangle-up", "#D2492A"), "warmup": ("square", "#B09A00"), "steady": ("circle", "#2563C9")}
"""Kind of a block → its mark; shapes repeat what colours say."""


def blocks(frame: pd.DataFrame, median_ms: float | None) -> alt.LayerChart:
    """Draw one mark per block, a rule at the result's latency, and a tick under each block that compiled.

    Args:
        frame: columns block, process, kind, ms (per iteration, > 0), compiles, executions, trace_ms, round.
        median_ms: the result's latency, None where it has none.
    """
    shown = [kind for kind in PHASES if (frame["kind"] == kind).any()]
    across = alt.X("block:Q", axis=alt.Axis(title="Timed block, in order", tickMinStep=1, labelFontSize=12))
    down = alt.Y(
        "ms:Q",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(
            title="ms per iteration (log scale)",
            labelFontSize=12,
            labelExpr=axes.NUMBERS,
            values=axes.log_ticks(axes.log_domain(frame["ms"])),
        ),
    )
    legend = alt.Legend(title=None, orient="top", labelFontSize=12)
    kinds = alt.Scale(domain=shown, range=[PHASES[kind][1] for kind in shown])
    forms = alt.Scale(domain=shown, range=[PHASES[kind][0] for kind in shown])
    marks = (
        alt.Chart(frame)
        .mark_point(size=55, strokeWidth=1.6, opacity=0.9)
        .encode(
            x=across,
            y=down,
            color=alt.Color("kind:N", scale=kinds, legend=legend),
            shape=alt.Shape("kind:N", scale=forms, legend=legend),
            tooltip=_tooltip(),
        )
    )
    compiled = (
        alt.Chart(frame)
        .transform_filter("datum.compiles > 0")
        .mark_rule(color=palette.FAILED_COLOUR, strokeDash=[3, 3], opacity=0.6)
        .encode(x=across, tooltip=_tooltip())
    )
    layers = [compiled, marks]
    if median_ms:
        rule = alt.Chart(frame.head(1).assign(latency=median_ms)).mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
        layers.insert(0, rule.encode(y=alt.Y("latency:Q", title="")))
    return layered(*layers, height=HEIGHT_PX)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("block:Q", title="Block"),
        alt.Tooltip("process:N", title="Process"),
        alt.Tooltip("kind:N", title="Phase"),
        alt.Tooltip("ms:Q", title="ms per iteration", format=",.4~g"),
        alt.Tooltip("compiles:Q", title="Compilations"),
        alt.Tooltip("executions:Q", title="Executions"),
        alt.Tooltip("trace_ms:Q", title="Tracing, ms", format=",.3~f"),
        alt.Tooltip("round:Q", title="Turn"),
    ]
