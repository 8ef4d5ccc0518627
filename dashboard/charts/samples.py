"""Every timed block of a result in its order: milliseconds on a log axis, phases by shape, compilation marked."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt

from dashboard import palette
from dashboard.charts import axes, drawing
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

HEIGHT_PX = 320
PHASES = {"first": ("triangle-up", "#D2492A"), "warmup": ("square", "#B09A00"), "steady": ("circle", "#2563C9")}
"""Kind of a block → its mark; shapes repeat what colours say."""


def blocks(frame: pd.DataFrame, median_ms: float | None) -> Drawing:
    """Draw one mark per block, a rule at the result's latency, and a dashed one at each block that compiled.

    Args:
        frame: columns block, process, kind, ms (per iteration, > 0), compiles, executions, trace_ms, round.
        median_ms: the result's latency, None where it has none.
    """
    shown = tuple(kind for kind in PHASES if (frame["kind"] == kind).any())
    return Drawing(_spec(shown, _ticks(frame["ms"]), ruled=bool(median_ms)), frame.assign(latency=median_ms))


def _ticks(ms: pd.Series) -> tuple[float, ...]:
    """Return ticks of a wider axis than that of the data, so that data of about the same size has the same.

    None where no such tick lies within the data: then the browser finds finer ones.
    """
    if ms.empty:
        return ()
    ticks = axes.log_ticks(axes.round_domain(ms), wide=axes.is_wide(axes.log_domain(ms)))
    return tuple(ticks) if any(ms.min() <= tick <= ms.max() for tick in ticks) else ()


@lru_cache(maxsize=256)
def _spec(shown: tuple[str, ...], ticks: tuple[float, ...], *, ruled: bool) -> dict[str, Any]:
    across = alt.X("block:Q", axis=alt.Axis(title="Timed block, in order", tickMinStep=1, labelFontSize=12))
    down = alt.Y(
        "ms:Q",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(
            title="ms per iteration (log scale)",
            labelFontSize=12,
            labelExpr=axes.NUMBERS,
            values=list(ticks) or alt.Undefined,
        ),
    )
    legend = alt.Legend(title=None, orient="top", labelFontSize=12)
    kinds = alt.Scale(domain=list(shown), range=[PHASES[kind][1] for kind in shown])
    forms = alt.Scale(domain=list(shown), range=[PHASES[kind][0] for kind in shown])
    marks = (
        drawing.points()
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
        drawing.points()
        .transform_filter("datum.compiles > 0")
        .mark_rule(color=palette.FAILED_COLOUR, strokeDash=[3, 3], opacity=0.6)
        .encode(x=across, tooltip=_tooltip())
    )
    layers = [compiled, marks]
    if ruled:
        rule = drawing.points().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
        layers.insert(0, rule.encode(y=alt.Y("latency:Q", aggregate="max", title="")))
    return drawing.specified(layered(*layers, height=HEIGHT_PX))


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
