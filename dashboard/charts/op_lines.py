"""An op over the runs: how many models call it, one line per variant; a step shows how many ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from dashboard import palette
from dashboard.charts import axes
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    import pandas as pd

HEIGHT_PX = 240


def models_over_runs(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw one mark per run and variant.

    Args:
        frame: columns place (sorts the runs), run, versions, variant, backend, models, ran, label, calls.
    """
    places = sorted(set(frame["place"]))
    top = max(1, int(frame["ran"].max()))
    base = alt.Chart(frame).encode(
        x=alt.X(
            "place:O",
            sort=places,
            axis=alt.Axis(
                title="Runs, the newest on the right",
                labelExpr="slice(datum.value, 5, 16)",
                labelAngle=-35,
                labelOverlap=True,
                titleFontSize=12,
            ),
        )
    )
    up = alt.Scale(domain=[0, top], nice=False)
    colour, shape, _ = axes.series(frame)
    ran = base.mark_line(interpolate="step", color=palette.NEUTRAL, strokeDash=[4, 3], opacity=0.7).encode(
        y=alt.Y("ran:Q", scale=up), detail="variant:N"
    )
    line = base.mark_line(strokeWidth=2).encode(y=_models(up), color=colour)
    dots = base.mark_point(size=70, filled=True, opacity=1).encode(
        y=_models(up), color=colour, shape=shape, tooltip=_tooltip()
    )
    return layered(ran, line, dots, height=HEIGHT_PX)


def _models(scale: alt.Scale) -> alt.Y:
    return alt.Y("models:Q", scale=scale, axis=alt.Axis(title="Models that call it", tickMinStep=1, titleFontSize=12))


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("versions:N", title="Versions"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Models that call it, of those that ran"),
        alt.Tooltip("calls:N", title="Calls per iteration (most)"),
    ]
