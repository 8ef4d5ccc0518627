"""Speedup dots: models down, a logarithmic ratio axis centred on 1 across, one row per variant."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes, drawing
from dashboard.charts.drawing import Drawing
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from collections.abc import Sequence


def ratio_dots(frame: pd.DataFrame, models: Sequence[str], baseline: str, first: str = "Model") -> Drawing:
    """Draw one dot per result with its 95 % interval; a hollow dot has no interval.

    Args:
        frame: columns model, variant, backend, value, low, high, certain, label, n, latency_ms, baseline_ms; with
            suite and test, dots can be selected; with doubt, they are marked.
        models: order of the rows; `geomean` may be one of them.
        baseline: name of the baseline, for the axis title.
        first: what the rows are, for the tooltip.
    """
    pairs = drawing.pairs(frame)
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    known, opens = "latency_ms" in frame.columns, "suite" in frame.columns
    marked = "doubt" in frame.columns and bool(frame["doubt"].any())
    row_px = axes.row_px(len(models), len(pairs))
    spec = _spec(pairs, domain, row_px, baseline, first, known=known, opens=opens, marked=marked)
    return Drawing(spec, drawing.placed(frame, models))


@lru_cache(maxsize=256)
def _spec(
    pairs: tuple[tuple[str, str], ...],
    domain: tuple[float, float],
    row_px: int,
    baseline: str,
    first: str,
    *,
    known: bool,
    opens: bool,
    marked: bool,
) -> dict[str, Any]:
    title = f"Speedup over {baseline} (log scale; right of 1 is faster)"
    colour, shape, row = axes.looks(pairs)
    place = {"y": axes.model_axis(), "yOffset": row, "color": colour}
    one = (
        drawing.single(1)
        .mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
        .encode(x=axes.ratio_axis("value", domain, title))
    )
    intervals = (
        drawing.points()
        .transform_filter("datum.certain")
        .mark_bar(size=2)
        .encode(x=axes.ratio_axis("low", domain, title), x2="high:Q", **place)
    )
    dots = (
        drawing.points()
        .mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(
            x=axes.ratio_axis("value", domain, title),
            **place,
            shape=shape,
            fill=axes.filled("datum.certain", colour),
            tooltip=_tooltip(first, known=known),
        )
    )
    if opens:
        dots = dots.add_params(axes.pick())
    doubts = [axes.doubt_marks(axes.ratio_axis("value", domain, title), **place)] if marked else []
    return drawing.specified(layered(one, intervals, dots, *doubts, height=axes.steps(row_px)))


def _tooltip(first: str, *, known: bool) -> list[alt.Tooltip]:
    latencies = [
        alt.Tooltip("latency_ms:Q", title="Latency, ms", format=",.3~f"),
        alt.Tooltip("baseline_ms:Q", title="Baseline latency, ms", format=",.3~f"),
    ]
    return [
        alt.Tooltip("model:N", title=first),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:N", title="n"),
        *(latencies if known else []),
    ]
