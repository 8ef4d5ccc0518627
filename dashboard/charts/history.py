"""Lines over runs: one per series, with intervals; changes that were confirmed and marks of people as upright lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.charts import axes, legends
from dashboard.charts.layering import layered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HEIGHT_PX = 300
SMALL_PX = 170
PICKED = "picked"
"""Name of the selection: the runs of the points that were clicked, under `run_id`."""
_FEW_DAYS = 3
"""Up to so many days the axis has the time of day."""
_MARK_COLOUR = "#7B5EA7"


def points(rows: pd.DataFrame, values: Iterable[float | None], labels: Iterable[str]) -> pd.DataFrame:
    """Return rows of runs as points of `lines`.

    Args:
        rows: columns run_id, run_label, run_started, backend, and series or variant, which names the line.
        values: of the points.
        labels: what is told of each.
    """
    return pd.DataFrame(
        {
            "run_id": rows["run_id"],
            "run": [
                f"{label} · {started:%Y-%m-%d %H:%M}"
                for label, started in zip(rows["run_label"], rows["run_started"], strict=True)
            ],
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
    ratio: bool = False,
    share: bool = False,
    whole: bool = False,
    height: int = HEIGHT_PX,
    legend: bool = True,
    tooltip: Mapping[str, str] | None = None,
) -> alt.LayerChart:
    """Draw one line per variant with a point per run that can be clicked.

    Args:
        frame: columns run_id, run, started, variant, backend, value, low, high, label.
        title: of the y axis, with its unit.
        events: columns at, kind, text: upright lines.
        ratio: a logarithmic axis around 1.
        share: an axis from 0 to 1.
        whole: the values are counts.
        height: pixels.
        legend: whether the variants are named.
        tooltip: column → title, beside the run, the variant and the label.
    """
    colour, shape = _series(frame, legend=legend)
    axis = _ratios(frame, title) if ratio else _shares(title) if share else _values(title, whole=whole)
    base = alt.Chart(frame).encode(x=_across(frame), color=colour)
    picked = alt.selection_point(name=PICKED, fields=["run_id"], on="click", toggle="true", clear=False)
    marks = (
        base.mark_point(size=70, filled=True, opacity=1)
        .encode(
            y=axis,
            shape=shape,
            size=alt.condition(picked, alt.value(140), alt.value(60), empty=False),
            tooltip=_tooltip(tooltip or {}),
        )
        .add_params(picked)
    )
    layers: list[Any] = [*_events(events)]
    if ratio:
        layers.append(alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(color=palette.NEUTRAL).encode(y=axis))
    known = frame[frame["low"].notna()] if "low" in frame.columns else frame.iloc[:0]
    if len(known):
        spans = alt.Chart(known).encode(x=_across(frame), color=colour)
        layers.append(spans.mark_rule(strokeWidth=1.5, opacity=0.55).encode(y=_end(axis, "low"), y2="high:Q"))
    layers += [base.mark_line(strokeWidth=1.6, opacity=0.75).encode(y=axis), marks]
    return layered(*layers, height=height)


def _series(frame: pd.DataFrame, *, legend: bool) -> tuple[alt.Color, alt.Shape]:
    pairs = list(dict.fromkeys(zip(frame["variant"], frame["backend"], strict=True)))
    domain, colours, shapes = palette.scale(pairs)
    shown = legends.legend(symbolSize=90) if legend else None
    return (
        alt.Color("variant:N", scale=alt.Scale(domain=domain, range=colours), legend=shown),
        alt.Shape("variant:N", scale=alt.Scale(domain=domain, range=shapes), legend=shown),
    )


def _across(frame: pd.DataFrame) -> alt.X:
    days = (frame["started"].max() - frame["started"].min()) / pd.Timedelta(days=1)
    form = "%b %d" if days > _FEW_DAYS else "%b %d %H:%M"
    axis = alt.Axis(title=None, format=form, labelFontSize=12, labelOverlap=True, grid=False, tickCount=6)
    return alt.X("started:T", axis=axis, scale=alt.Scale(padding=14))


def _ratios(frame: pd.DataFrame, title: str) -> alt.Y:
    domain = axes.ratio_domain(pd.concat([frame["value"], frame["low"], frame["high"]]).dropna())
    across = axes.ratio_axis("value", domain, title).to_dict()
    return alt.Y("value:Q", scale=alt.Scale(**across["scale"]), axis=alt.Axis(**across["axis"]))


def _shares(title: str) -> alt.Y:
    """Return an axis with room above 100 %, where most points are."""
    axis = alt.Axis(title=title, format=".0%", values=[0, 0.25, 0.5, 0.75, 1], labelFontSize=12, titleFontSize=12)
    return alt.Y("value:Q", scale=alt.Scale(domain=[0, 1.06], nice=False), axis=axis)


def _values(title: str, *, whole: bool) -> alt.Y:
    step = {"tickMinStep": 1, "format": "d"} if whole else {"format": "~r"}
    axis = alt.Axis(title=title, labelFontSize=12, titleFontSize=12, tickCount=6, **step)
    return alt.Y("value:Q", scale=alt.Scale(zero=False, nice=True, padding=8), axis=axis)


def _end(axis: alt.Y, column: str) -> alt.Y:
    """Return the same axis for another column."""
    return alt.Y(f"{column}:Q", scale=axis.to_dict()["scale"], axis=axis.to_dict()["axis"])


def _tooltip(more: Mapping[str, str]) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("label:N", title="Value"),
        *(alt.Tooltip(f"{name}:N", title=title) for name, title in more.items()),
    ]


def _events(events: pd.DataFrame | None) -> list[alt.Chart]:
    """Return upright lines: dashed where a change was confirmed, whole and named where a person set a mark."""
    if events is None or events.empty:
        return []
    layers = []
    for kind, colour, dash in (("change", palette.FAILED_COLOUR, [5, 3]), ("mark", _MARK_COLOUR, [1, 0])):
        part = events[events["kind"] == kind]
        if part.empty:
            continue
        base = alt.Chart(part).encode(x=alt.X("at:T"))
        layers.append(
            base.mark_rule(color=colour, strokeDash=dash, strokeWidth=1.6).encode(
                tooltip=[alt.Tooltip("text:N", title=kind.capitalize())]
            )
        )
        layers.append(
            base.mark_text(color=colour, align="left", dx=4, limit=150, fontSize=11).encode(
                y=alt.value(6 if kind == "mark" else alt.expr("height - 6")), text="short:N"
            )
        )
    return layers
