"""Charts over runs: one line per series with intervals; vertical lines show confirmed changes and marks of people."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import altair as alt
import pandas as pd

from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered

HEIGHT_PX = 300
SMALL_PX = 170
PICKED = "picked"
"""Name of the selection, which contains the `run_id` of the clicked points."""
_FEW_DAYS = 3
"""Longest span in days for which the axis shows the time of day."""
_EVENTS: dict[str, tuple[str, list[int], Any]] = {
    "change": (palette.FAILED_COLOUR, [5, 3], alt.expr("height - 6")),
    "mark": ("#7B5EA7", [1, 0], 6),
}
"""Kind of an event → colour and dashes of its line, and vertical position of its label."""

Kind = Literal["values", "ratio", "share", "whole"]
"""Kind of the y axis: any numbers, ratios on a logarithmic axis around 1, shares from 0 to 1, counts."""


def points(rows: pd.DataFrame, values: Iterable[float | None], labels: Iterable[str]) -> pd.DataFrame:
    """Return rows of runs as points for `lines`.

    Args:
        rows: columns run_id, run_label, run_started, backend, and series or variant, which names the line.
        values: values of the points.
        labels: texts of the tooltips.
    """
    runs = rows.drop_duplicates("run_id")
    labelled = zip(runs["run_id"], runs["run_label"], runs["run_started"], strict=True)
    return pd.DataFrame(
        {
            "run_id": rows["run_id"],
            "run": rows["run_id"].map({run: f"{label} · {started:%Y-%m-%d %H:%M}" for run, label, started in labelled}),
            "started": rows["run_started"],
            "variant": rows["series"] if "series" in rows.columns else rows["variant"],
            "backend": rows["backend"],
            "value": list(values),
            "label": list(labels),
        }
    )


def lines(
    frame: pd.DataFrame,
    title: str,
    *,
    events: pd.DataFrame | None = None,
    kind: Kind = "values",
    height: int = HEIGHT_PX,
    legend: bool = True,
) -> Drawing:
    """Draw one line per variant with a point per run that can be clicked.

    Args:
        frame: columns run_id, run, started, variant, backend, value, low, high, label, and way where a line joins
            only points with an equal one, or step where points for which it is true are hollow.
        title: title of the y axis, with its unit.
        events: columns at, kind, text, short: vertical lines.
        kind: kind of the y axis.
        height: in pixels.
        legend: whether a legend names the variants.
    """
    ends = [frame[name] for name in ("value", "low", "high") if name in frame.columns]
    days, marked = many_days(frame["started"]), events is not None and not events.empty
    shape = _Shape(
        pairs=tuple(dict.fromkeys(zip(frame["variant"], frame["backend"], strict=True))),
        title=title,
        kind=kind,
        domain=axes.ratio_domain(pd.concat(ends).dropna()) if kind == "ratio" else None,
        spans="low" in frame.columns and bool(frame["low"].notna().any()),
        ways="way" in frame.columns,
        steps="step" in frame.columns and bool(frame["step"].any()),
        days=False if days is None and marked else days,
        events=()
        if events is None
        else tuple(event_kind for event_kind in _EVENTS if (events["kind"] == event_kind).any()),
        height=height,
        legend=legend,
    )
    return Drawing(_spec(shape), frame, events if shape.events else None)


def many_days(started: pd.Series) -> bool | None:
    """Tell whether the span of moments is so long that an axis of days is enough; None for a single moment."""
    days = (started.max() - started.min()) / pd.Timedelta(days=1)
    return bool(days > _FEW_DAYS) if days else None


class _Shape(NamedTuple):
    """Everything on which the specification depends."""

    pairs: tuple[tuple[str, str], ...]
    title: str
    kind: Kind
    domain: tuple[float, float] | None
    spans: bool
    ways: bool
    """Whether lines join only points of an equal column `way`."""
    steps: bool
    """Whether points whose column `step` is true are hollow."""
    days: bool | None
    """Whether an axis of days is enough; None for a single moment."""
    events: tuple[str, ...]
    height: int
    legend: bool


@lru_cache(maxsize=256)
def _spec(of: _Shape) -> dict[str, Any]:
    colour, shape = _series(of)
    axis, across = _up(of), across_time(days=of.days)
    base = drawing.points().encode(x=across, color=colour)
    selection = alt.selection_point(name=PICKED, fields=["run_id"], on="click", toggle="true", clear=False)
    marks = (
        # Only marks that are not filled as a whole have an outline, without which hollow ones would be invisible.
        base.mark_point(size=70, filled=not of.steps, opacity=1)
        .encode(
            y=axis,
            shape=shape,
            size=alt.condition(selection, alt.value(140), alt.value(60), empty=False),
            tooltip=drawing.tooltip(run="Run", variant="Backend", label="Value"),
        )
        .add_params(selection)
    )
    if of.steps:
        marks = marks.encode(fill=axes.filled("!datum.step", colour))
    layers: list[Any] = [layer for kind in of.events for layer in _upright(kind)]
    if of.kind == "ratio":
        layers.append(drawing.single().mark_rule(color=palette.NEUTRAL).encode(y=axis))
    if of.spans:
        spans = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5, opacity=0.55)
        layers.append(spans.encode(y=_end(axis), y2="high:Q"))
    line = base.mark_line(strokeWidth=1.6, opacity=0.75).encode(y=axis)
    layers += [line.encode(detail="way:N") if of.ways else line, marks]
    return drawing.specified(layered(*layers, height=of.height))


def _series(of: _Shape) -> tuple[alt.Color, alt.Shape]:
    domain, colours, shapes = palette.scale(of.pairs)
    variants_legend = drawing.legend(domain, symbolSize=90, symbolOpacity=1) if of.legend else None
    return (
        alt.Color("variant:N", scale=alt.Scale(domain=domain, range=colours), legend=variants_legend),
        alt.Shape("variant:N", scale=alt.Scale(domain=domain, range=shapes), legend=variants_legend),
    )


_MOMENT = "[timeFormat(datum.value, '%H:%M'), timeFormat(datum.value, '%b %d')]"
"""Label of a moment in two lines, which is short: each label is centred on its tick, also in a narrow chart."""


def across_time(*, days: bool | None) -> alt.X:
    """Return a time axis; a single moment gets an ordinal axis, as ticks of an empty span would all be equal.

    A label that would be cut off at an end is left out: moved inwards, it would not stand at its tick.
    """
    if days is None:
        form = alt.Axis(title=None, format="%b %d %H:%M", formatType="time", labelFontSize=12, labelAngle=0, grid=False)
        return alt.X("started:O", axis=form)
    text = {"format": "%b %d"} if days else {"labelExpr": _MOMENT}
    room = {"labelOverlap": True, "labelSeparation": 8, "labelFlush": False, "labelBound": True}
    axis = alt.Axis(title=None, labelFontSize=12, grid=False, tickCount=6, **text, **room)
    return alt.X("started:T", axis=axis, scale=alt.Scale(padding=24))


_WHOLE = "span(domain('y')) < 6 ? sequence(ceil(domain('y')[0]), floor(domain('y')[1]) + 1) : null"
"""Ticks at the whole numbers of a short axis; Vega itself would add ticks between them."""


def _up(of: _Shape) -> alt.Y:
    if of.domain is not None:
        return axes.ratio_height(of.domain, of.title)
    if of.kind == "share":
        return _shares(of.title)
    step = {"tickMinStep": 1, "format": "d", "values": alt.ExprRef(_WHOLE)} if of.kind == "whole" else {"format": "~r"}
    axis = alt.Axis(title=of.title, labelFontSize=12, titleFontSize=12, tickCount=6, **step)
    return alt.Y("value:Q", scale=alt.Scale(zero=False, nice=True, padding=8), axis=axis)


def _shares(title: str) -> alt.Y:
    """Return an axis with room above 100 %, where most points are."""
    axis = alt.Axis(title=title, format=".0%", values=[0, 0.25, 0.5, 0.75, 1], labelFontSize=12, titleFontSize=12)
    return alt.Y("value:Q", scale=alt.Scale(domain=[0, 1.06], nice=False), axis=axis)


def _end(axis: alt.Y) -> alt.Y:
    """Return the same axis for the column `low`."""
    return alt.Y("low:Q", scale=axis.to_dict()["scale"], axis=axis.to_dict()["axis"])


def _upright(kind: str) -> list[alt.Chart]:
    """Return vertical lines: dashed for confirmed changes, solid with a label for marks of people."""
    colour, dash, y = _EVENTS[kind]
    base = drawing.events().transform_filter(f"datum.kind === '{kind}'").encode(x=alt.X("at:T"))
    rule = base.mark_rule(color=colour, strokeDash=dash, strokeWidth=1.6)
    words = base.mark_text(color=colour, align="left", dx=4, limit=150, fontSize=11)
    return [
        rule.encode(tooltip=[alt.Tooltip("text:N", title=kind.capitalize())]),
        words.encode(y=alt.value(y), text="short:N"),
    ]


_PAST_HEIGHT_PX = 260


def past_line(frame: pd.DataFrame, backend: str) -> alt.LayerChart:
    """Draw one mark per run that ran.

    Args:
        frame: columns started, run, ms, low, high, n, torch, way (a line joins only points with an equal one), shown
            (whether the page shows this run).
        backend: the backend; it decides the colour.
    """
    base = alt.Chart(frame).encode(
        x=across_time(days=many_days(frame["started"])),
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("started:T", title="Started (UTC)", format="%Y-%m-%d %H:%M"),
            alt.Tooltip("ms:Q", title="Latency, ms", format=",.4~g"),
            alt.Tooltip("low:Q", title="95 % low, ms", format=",.4~g"),
            alt.Tooltip("high:Q", title="95 % high, ms", format=",.4~g"),
            alt.Tooltip("n:Q", title="n"),
            alt.Tooltip("torch:N", title="torch"),
        ],
    )
    down = alt.Y(
        "ms:Q", scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(title="ms per iteration", labelFontSize=12)
    )
    colour = palette.colour(backend)
    ends = base.transform_filter("isValid(datum.low)").mark_rule(color=colour, opacity=0.5)
    dots = base.mark_point(size=70, filled=True, opacity=1, color=colour)
    current = base.transform_filter("datum.shown").mark_point(size=230, color=palette.NEUTRAL, strokeWidth=1.5)
    return layered(
        base.mark_line(color=colour, strokeWidth=1.2).encode(y=down, detail="way:N"),
        ends.encode(y=alt.Y("low:Q", title=""), y2="high:Q"),
        dots.encode(y=down),
        current.encode(y=down),
        height=_PAST_HEIGHT_PX,
    )


_MODELS_HEIGHT_PX = 240


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
    line = base.mark_line(strokeWidth=2).encode(y=_models_axis(up), color=colour)
    of, calls = "Models that call it, of those that ran", "Calls per iteration (most)"
    tooltip = drawing.tooltip(run="Run", versions="Versions", variant="Backend", label=of, calls=calls)
    dots = base.mark_point(size=70, filled=True, opacity=1).encode(
        y=_models_axis(up), color=colour, shape=shape, tooltip=tooltip
    )
    return layered(ran, line, dots, height=_MODELS_HEIGHT_PX)


def _models_axis(scale: alt.Scale) -> alt.Y:
    return alt.Y("models:Q", scale=scale, axis=alt.Axis(title="Models that call it", tickMinStep=1, titleFontSize=12))
