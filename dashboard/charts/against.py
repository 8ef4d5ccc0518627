"""One backend against another: A across, B up, both on the same logarithmic axis; on the diagonal they are equal."""

from __future__ import annotations

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered
from dashboard.charts.legends import legend
from dashboard.verdicts import LOOKS
from dashboard.words import TIMES

BETWEEN = "no difference seen"
UNKNOWN = "no interval"
HEIGHT_PX = 440


def scatter(frame: pd.DataFrame, a: str, b: str, by: str) -> alt.LayerChart:
    """Draw one mark per model; its shape and colour say on which side of 1 the interval of the ratio lies.

    Args:
        frame: columns model, suite, test, a, b, outcome, label, of_a, of_b, n.
        a: name of the backend across.
        b: name of the backend up.
        by: `Latency` (milliseconds) or `Speedup`.
    """
    low, high = axes.log_domain(pd.concat([frame["a"], frame["b"]]))
    labels = axes.NUMBERS + (" + ' ms'" if by == "Latency" else f" + '{TIMES}'")
    better = "below the diagonal" if by == "Latency" else "above the diagonal"
    across = alt.X("a:Q", scale=_log(low, high), axis=_axis((low, high), f"{a}: {by.lower()} (log scale)", labels))
    up = alt.Y(
        "b:Q", scale=_log(low, high), axis=_axis((low, high), f"{b}: {by.lower()} ({better}, it is faster)", labels)
    )
    ends = pd.DataFrame({"a": [low, high], "b": [low, high]})
    diagonal = alt.Chart(ends).mark_line(color=palette.NEUTRAL, strokeWidth=1.5).encode(x=across, y=up)
    colour, shape = _outcomes(a, b, set(frame["outcome"]))
    marks = (
        alt.Chart(frame)
        .mark_point(size=85, filled=True, opacity=0.9)
        .encode(x=across, y=up, color=colour, shape=shape, tooltip=_tooltip(a, b))
        .add_params(axes.pick())
    )
    return layered(diagonal, marks, height=HEIGHT_PX)


def _outcomes(a: str, b: str, present: set[str]) -> tuple[alt.Color, alt.Shape]:
    """Return colour and shape of the outcomes that occur; each outcome always has the same."""
    looks = {
        f"{b} faster": (LOOKS["faster"].colour, "triangle-up"),
        BETWEEN: (LOOKS["same"].colour, "circle"),
        f"{a} faster": (LOOKS["slower"].colour, "triangle-down"),
        UNKNOWN: (LOOKS["not comparable"].colour, "cross"),
    }
    domain = [outcome for outcome in looks if outcome in present]
    colours, shapes = ([looks[outcome][part] for outcome in domain] for part in (0, 1))
    shown = legend(domain, symbolSize=90)
    return (
        alt.Color("outcome:N", scale=alt.Scale(domain=domain, range=colours), legend=shown),
        alt.Shape(
            "outcome:N",
            scale=alt.Scale(domain=domain, range=shapes),
            legend=shown,
        ),
    )


def _log(low: float, high: float) -> alt.Scale:
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _axis(domain: tuple[float, float], title: str, labels: str) -> alt.Axis:
    return alt.Axis(title=title, values=axes.log_ticks(domain), labelExpr=labels, labelFontSize=12, titleFontSize=12)


def _tooltip(a: str, b: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("suite:N", title="Suite"),
        alt.Tooltip("label:N", title=f"{a} / {b} (95 %)"),
        alt.Tooltip("of_a:N", title=f"Latency of {a}"),
        alt.Tooltip("of_b:N", title=f"Latency of {b}"),
        alt.Tooltip("n:N", title="n"),
        alt.Tooltip("outcome:N", title="Interval says"),
    ]
