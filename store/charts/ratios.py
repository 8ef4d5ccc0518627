"""Ratios as dots with their intervals on a logarithmic axis: speedups of models, and changes of speed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import altair as alt
import pandas as pd

from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered

_OPTIONAL = {"latency_ms", "suite", "doubt", "note"}
"""Optional columns of the frame, each with an addition to the chart."""


def ratio_dots(
    frame: pd.DataFrame, models: Sequence[str], axis: str, *, label_px: int = axes.LABEL_PX, least_px: int = 0
) -> Drawing:
    """Draw one dot per result with its 95 % interval; a hollow dot has no interval.

    Args:
        frame: columns model, variant, backend, value, low, high, certain, label, n, latency_ms, baseline_ms; with
            suite and test, dots can be selected; with doubt, they are marked; with note and end, the note is written
            right of the end.
        models: order of the rows; `geomean` may be one of them.
        axis: name of the ratio.
        label_px: largest width of the names of the rows.
        least_px: smallest height of the rows of one model.
    """
    pairs = drawing.pairs(frame)
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    row_px = max(axes.row_px(len(models), len(pairs)), least_px)
    has = frozenset(_OPTIONAL.intersection(name for name in frame.columns if name != "doubt" or frame[name].any()))
    title = f"{axis} (log scale; right of 1 is faster)"
    spec = _dots_spec(pairs, domain, row_px, label_px, title, has, axes.side_of_axis(len(models), row_px))
    return Drawing(spec, drawing.placed(frame, models))


@lru_cache(maxsize=256)
def _dots_spec(
    pairs: tuple[tuple[str, str], ...],
    domain: tuple[float, float],
    row_px: int,
    label_px: int,
    title: str,
    has: frozenset[str],
    side: axes.Side,
) -> dict[str, Any]:
    across = partial(axes.ratio_axis, domain=domain, title=title, orient=side)
    colour, shape, row = axes.looks(pairs)
    place = {"y": axes.model_axis(label_px, least_px=axes.LABEL_PX), "yOffset": row, "color": colour}
    unit_rule = drawing.single().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5).encode(x=across("value"))
    intervals = (
        drawing.points()
        .transform_filter("datum.certain")
        .mark_bar(size=2)
        .encode(x=across("low"), x2="high:Q", **place)
    )
    dots = (
        drawing.points()
        .mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(
            x=across("value"),
            **place,
            shape=shape,
            fill=axes.filled("datum.certain", colour),
            tooltip=_dots_tooltip(has_latency="latency_ms" in has),
        )
    )
    if "suite" in has:
        dots = dots.add_params(axes.pick())
    extra_layers = [axes.doubt_marks(across("value"), **place)] if "doubt" in has else []
    if "note" in has:
        notes = drawing.points().transform_filter("datum.note").mark_text(align="left", dx=6, fontSize=10)
        extra_layers.append(notes.encode(x=across("end"), **place, text="note:N"))
    return drawing.specified(layered(unit_rule, intervals, dots, *extra_layers, height=axes.steps(row_px)))


def _dots_tooltip(*, has_latency: bool) -> list[alt.Tooltip]:
    latencies = [
        alt.Tooltip("latency_ms:Q", title="Latency, ms", format=",.3~f"),
        alt.Tooltip("baseline_ms:Q", title="Baseline latency, ms", format=",.3~f"),
    ]
    return [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:N", title="n"),
        *(latencies if has_latency else []),
    ]


ROW_PX = 24
NAME_PX = 330
CHROME_PX = 84
LEAST_ROWS = 2
"""Least number of rows for the height: a single row would be cut by axis and title."""


def change_dots(frame: pd.DataFrame, names: Sequence[str], axis: str) -> Drawing:
    """Draw one row per change; a hollow mark is a suspected change.

    Args:
        frame: columns name, word (slower or faster), value, low, high, certain, label.
        names: order of the rows.
        axis: name of the ratio.
    """
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    words = [word for word in palette.VERDICTS if (frame["word"] == word).any()]
    colours, shapes = ([palette.VERDICTS[word][part] for word in words] for part in (0, 1))
    colour = alt.Color("word:N", scale=alt.Scale(domain=words, range=colours), legend=None)
    down = alt.Y(
        "name:N",
        sort=list(names),
        axis=alt.Axis(
            title=None,
            labelLimit=axes.names_px(NAME_PX),
            minExtent=axes.names_px(NAME_PX),
            **axes.name_lines(" (?=(?:eval|train) )", 2),
            ticks=False,
            domain=False,
        ),
    )
    base = drawing.points().encode(y=down, color=colour)
    unit_rule = drawing.single().mark_rule(color=palette.NEUTRAL, strokeWidth=1.5)
    dots = base.mark_point(size=75, strokeWidth=1.8, opacity=1).encode(
        x=axes.ratio_axis("value", domain, axis),
        shape=alt.Shape("word:N", scale=alt.Scale(domain=words, range=shapes), legend=None),
        fill=axes.filled("datum.certain", colour),
        tooltip=drawing.tooltip(name="Finding", label="A / B"),
    )
    spans = base.mark_bar(size=2).encode(x=axes.ratio_axis("low", domain, axis), x2="high:Q")
    layers = (unit_rule.encode(x=axes.ratio_axis("value", domain, axis)), spans, dots)
    height = CHROME_PX + ROW_PX * max(len(names), LEAST_ROWS)
    return Drawing(drawing.specified(layered(*layers, height=height)), frame)
