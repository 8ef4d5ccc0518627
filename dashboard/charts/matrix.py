"""Heat map of speedups: models down in groups, backends across; a cell is coloured where its interval is clear of 1."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt

from dashboard.charts import axes, drawing
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

ROW_PX, DENSE_ROW_PX, DENSE_FROM = 22, 17, 40
"""Height of a row; of many rows; from how many on."""
_SHADES = ("#B8320E", "#F7D3C4", "#E6E6E6", "#CBE9DB", "#0E7A55")
"""Half as fast or slower, a little slower, no difference, a little faster, twice as fast or faster."""
_ENDS = (-1.0, -0.06, 0.0, 0.06, 1.0)
"""Binary logarithms of the ratios of those colours."""
STRONG = 0.6
"""Binary logarithm from which a cell is dark enough for white text."""


def speedup_heat(frame: pd.DataFrame, rows: Sequence[str], series: Sequence[str]) -> Drawing:
    """Draw one cell per model and backend.

    Args:
        frame: columns row, name (text of the row), series, shade (binary logarithm of the speedup, 0 where no
            difference is shown, missing where there is no speedup), label, why, suite, model, test.
        rows: their order; the head of a group has one cell without label.
        series: order of the columns.
    """
    place, across = ({name: at for at, name in enumerate(names)} for names in (rows, series))
    placed = frame.assign(
        place=frame["row"].map(place), across=frame["series"].map(across), dark=frame["shade"].abs() > STRONG
    )
    return Drawing(_spec(DENSE_ROW_PX if len(rows) > DENSE_FROM else ROW_PX), placed)


@lru_cache(maxsize=4)
def _spec(row_px: int) -> dict[str, Any]:
    base = drawing.points().encode(x=_across(), y=_down())
    cells = (
        base.transform_filter("isValid(datum.shade)")
        .mark_rect(cornerRadius=2, cursor="pointer")
        .encode(color=_colour(), tooltip=_tooltip())
        .add_params(axes.pick())
    )
    ink = alt.condition("datum.dark", alt.value("white"), alt.value("#222222"))
    texts = base.transform_filter("isValid(datum.shade)").mark_text(fontSize=11.5).encode(text="label:N", color=ink)
    others = (
        base.transform_filter("!isValid(datum.shade)")
        .mark_text(fontSize=11.5, color="#B0744A")
        .encode(text="label:N", tooltip=_tooltip())
    )
    return drawing.specified(layered(cells, texts, others, height=axes.steps(row_px)))


_IN_PARTS = "windowSize()[0] < 640 ? split(replace(datum.label, '+', '+ '), ' ') : datum.label"
"""A telephone has room for a part of `openxla+lazytensor` in a line."""


def _across() -> alt.X:
    return alt.X(
        "series:N",
        sort=alt.EncodingSortField(field="across", op="min"),
        scale=alt.Scale(paddingInner=0.02),
        axis=alt.Axis(
            title=None,
            orient="top",
            labelAngle=0,
            labelFontSize=12,
            labelExpr=_IN_PARTS,
            labelOverlap=False,
            ticks=False,
            domain=False,
            labelLimit=220,
        ),
    )


def _down() -> alt.Y:
    return alt.Y(
        "row:N",
        sort=alt.EncodingSortField(field="place", op="min"),
        scale=alt.Scale(paddingInner=0.08),
        axis=alt.Axis(
            title=None,
            labelExpr="split(datum.value, '\\u001f')[1]",
            labelFontWeight={
                "condition": {"test": "split(datum.value, '\\u001f')[0] == ''", "value": "bold"},
                "value": "normal",
            },
            labelLimit=axes.names_px(240),
            labelFontSize=12,
            labelOverlap=False,
            ticks=False,
            domain=False,
        ),
    )


def _colour() -> alt.Color:
    return alt.Color("shade:Q", scale=alt.Scale(domain=list(_ENDS), range=list(_SHADES), clamp=True), legend=None)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("series:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup"),
        alt.Tooltip("why:N", title="What it says"),
    ]
