"""Charts of operators: times as dots, and times against bytes or FLOP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import altair as alt
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.data.frames import iter_rows, sections
from dashboard.formatting import count, escape, interval, missing, ratio, seconds
from dashboard.settings import CHART_MODELS
from dashboard.ui import answers, charts
from dashboard.ui.answers import SECTION
from dashboard.view import View, choosing
from store.charts import axes, drawing, palette
from store.charts.drawing import Drawing, layered
from store.metrics import metric
from store.operators import NEAR_FLOOR

ORDERS = ("Longest first", "Lowest speedup first", "Name")
_TRAIN, _WHOLE = "train", "Whole call"
PARTS: dict[str, str] = {_WHOLE: "latency_s", "Forward alone": "forward_s", "Backward alone": "backward_s"}
"""Label → column; only train calls have the phases."""
_FAR = 10.0
"""A floor that is smaller than the shortest time by this factor is not drawn: most of the axis would be empty."""


def choose(rows: pd.DataFrame) -> tuple[str, str]:
    """Draw the choices of the order and of the phase of train calls; return the order and the column of the phase."""
    order = choosing.segments("Order", ORDERS, "operator_order")
    with choosing.choices_of("phase", drawn=bool((rows["test"] == _TRAIN).any())):
        return order, PARTS[choosing.segments("Time of train calls", list(PARTS), "phase")]


def show_times(view: View, rows: pd.DataFrame, controls: DeltaGenerator) -> None:
    """Draw one chart per test and accelerator; the choice of order is among the controls."""
    with controls:
        order, part = choose(rows)
    for keys, section_rows in sections(rows[rows["latency_s"].notna()], SECTION):
        _times_chart(view, keys, section_rows, order, part if keys[0] == _TRAIN else PARTS[_WHOLE])


def _times_chart(view: View, keys: tuple[str, ...], rows: pd.DataFrame, order: str, column: str) -> None:
    timed = rows[rows[column] > 0]
    what = {"latency_s": "", "forward_s": " · forward alone", "backward_s": " · backward alone"}[column]
    st.subheader(f"{answers.section_title(keys)}{what}", anchor=False)
    if timed.empty:
        st.caption("No result has separate times of forward and backward.")
        return
    models = list(dict.fromkeys(_ordered(timed, order, column)["model"]))
    if len(models) > CHART_MODELS:
        st.caption(f"The first {CHART_MODELS} of {count(len(models), 'operator')} in this order; the table has all.")
    points = _points(timed[timed["model"].isin(models[:CHART_MODELS])], column)
    near = points["floor"] >= points["value"].min() / _FAR
    selected = charts.selectable(
        times_chart(points.assign(floor=points["floor"].where(near)), models[:CHART_MODELS]),
        key=f"times-{'-'.join(keys)}",
        text=f"Time of one call by operator, {' '.join(keys)}, with the time of an empty sync",
    )
    charts.open_model(view, selected)
    st.caption(_legend_sentence(points, view.selection.baseline))


def _ordered(rows: pd.DataFrame, order: str, column: str) -> pd.DataFrame:
    if order == ORDERS[2]:
        return rows.sort_values("model", key=lambda names: names.str.lower())
    if order == ORDERS[1]:
        return rows.sort_values(["speedup", "model"], na_position="last")
    return rows.sort_values([column, "model"], ascending=[False, True])


def _points(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the points; the floor of a train call contains two waits, and each of its phases one of them."""
    whole = column == "latency_s"
    row_list = list(iter_rows(rows))
    floors = [None if missing(row.floor_s) else row.floor_s / (1 if whole else 2) for row in row_list]
    values = [float(getattr(row, column)) for row in row_list]
    near = [
        bool(row.near_floor) if whole else floor is not None and value < NEAR_FLOOR * floor
        for row, floor, value in zip(row_list, floors, values, strict=True)
    ]
    return pd.DataFrame(
        {
            "model": [row.model for row in row_list],
            "suite": [row.suite for row in row_list],
            "test": [row.test for row in row_list],
            "variant": [row.series for row in row_list],
            "backend": [row.backend for row in row_list],
            "value": values,
            "low": pd.Series([row.latency_low_s if whole else None for row in row_list], dtype=float),
            "high": pd.Series([row.latency_high_s if whole else None for row in row_list], dtype=float),
            "floor": pd.Series(floors, dtype=float),
            "judged": [not is_near for is_near in near],
            "time": [seconds(value) for value in values],
            "floor_text": [seconds(floor) for floor in floors],
            "label": [_speedup(row, column) for row in row_list],
            "n": [int(row.steady_n) for row in row_list],
        }
    )


def _speedup(row: Any, column: str) -> str:
    if column != "latency_s":
        return f"{ratio(getattr(row, column.replace('_s', '_speedup')))} (no interval)"
    why = "" if missing(row.verdict_reason) else f": {row.verdict_reason}"
    return f"{ratio(row.speedup)} ({interval(row.speedup_low, row.speedup_high)}){why}"


def _legend_sentence(points: pd.DataFrame, baseline: str) -> str:
    """Return what the marks mean, and the time of an empty sync under each backend."""
    floors = points[points["floor"].notna()].groupby("variant")["floor"].median()
    texts = [f"{escape(str(name))} {seconds(value)}" for name, value in floors.items()]
    floor_sentence = (
        f"A grey tick is the time of an empty sync, the floor of what can be measured ({'; '.join(texts)}). "
        if texts
        else "The time of an empty sync was not measured. "
    )
    return floor_sentence + (
        f"A hollow mark is below {NEAR_FLOOR:g} times its floor: mostly synchronisation, so there is no verdict over "
        f"{escape(baseline)}. A floor far below all times is not drawn."
    )


_ABSENT = {
    "input_bytes": "No result of this view has its bytes: an older version of xlabench measured them without.",
    "flops": "No result of this view has FLOP, which XLA's programs give for matrix products and convolutions.",
}


def show_rates(rows: pd.DataFrame, column: Literal["input_bytes", "flops"]) -> None:
    """Draw one chart per test and accelerator."""
    known = rows[(rows[column] > 0) & (rows["latency_s"] > 0)]
    if known.empty:
        st.caption(_ABSENT[column])
        return
    for keys, part in sections(known, SECTION):
        st.subheader(answers.section_title(keys), anchor=False)
        st.altair_chart(
            rates_chart(_rate_points(part, column), column),
            key=f"rates-{'-'.join(keys)}",
            alt=f"Time of a call against {metric(column).label}, {' '.join(keys)}",
        )
    left_out = int(rows["latency_s"].notna().sum()) - len(known)
    without = f" {count(left_out, 'result')} without it are not drawn." if left_out else ""
    st.caption(f"{metric(column).definition} On a dashed line the rate is the same; lower is better.{without}")


def _rate_points(part: pd.DataFrame, column: str) -> pd.DataFrame:
    rows = list(iter_rows(part))
    rates = [getattr(row, column) / row.latency_s for row in rows]
    unit = "GB/s" if column == "input_bytes" else "GFLOP/s"
    return pd.DataFrame(
        {
            "model": [row.model for row in rows],
            "variant": [row.series for row in rows],
            "backend": [row.backend for row in rows],
            "work": [float(getattr(row, column)) for row in rows],
            "value": [row.latency_s for row in rows],
            "judged": [not row.near_floor for row in rows],
            "time": [seconds(row.latency_s) for row in rows],
            "rate": [f"{rate / 1e9:.3g} {unit}" for rate in rates],
        }
    )


LABEL_PX = 330
"""Room for an operator with its arguments."""


def times_chart(frame: pd.DataFrame, models: Sequence[str]) -> Drawing:
    """Draw one dot per result with the 95 % interval of its time; a hollow dot gets no verdict.

    Args:
        frame: columns model, suite, test, variant, backend, value, low, high, floor (seconds; floor is none where it is
            not drawn), judged, time, floor_text, label, n.
        models: order of the rows.
    """
    pairs = drawing.pairs(frame)
    domain = axes.round_domain(pd.concat([frame[name] for name in ("value", "low", "high", "floor")]).dropna())
    row_px = axes.row_px(len(models), len(pairs))
    spec = _spec(pairs, domain, row_px, axes.side_of_axis(len(models), row_px))
    return Drawing(spec, drawing.placed(frame, models))


@lru_cache(maxsize=256)
def _spec(
    pairs: tuple[tuple[str, str], ...], domain: tuple[float, float], row_px: int, side: axes.Side
) -> dict[str, Any]:
    colour, shape, row = axes.looks(pairs)
    base = drawing.points().encode(y=axes.model_axis(LABEL_PX, "[(]|(?<=,) "), yOffset=row)
    floors = (
        base.transform_filter("isValid(datum.floor)")
        .mark_tick(color=palette.NEUTRAL, thickness=2, size=11)
        .encode(x=_across("floor", domain, side), tooltip=_tooltip())
    )
    intervals = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_bar(size=2, clip=True)
        .encode(x=_across("low", domain, side), x2="high:Q", color=colour)
    )
    marks = (
        base.mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(
            x=_across("value", domain, side),
            color=colour,
            shape=shape,
            fill=axes.filled("datum.judged", colour),
            tooltip=_tooltip(),
        )
        .add_params(axes.pick())
    )
    return drawing.specified(layered(floors, intervals, marks, height=axes.steps(row_px)))


def _across(column: str, domain: tuple[float, float], side: axes.Side) -> alt.X:
    return alt.X(
        f"{column}:Q",
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(
            title="Time of one call (log scale; left is faster)",
            orient=side,
            values=axes.log_ticks(domain),
            labelExpr=axes.SHORT_SECONDS,
            labelFontSize=12,
            titleFontSize=12,
            grid=True,
        ),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="Operator"),
        alt.Tooltip("variant:N", title="Backend"),
        alt.Tooltip("time:N", title="Time of a call"),
        alt.Tooltip("floor_text:N", title="Empty sync"),
        alt.Tooltip("label:N", title="Speedup (95 %)"),
        alt.Tooltip("n:Q", title="n"),
    ]


HEIGHT_PX = 440
_FONTS: Any = {"labelFontSize": 12, "titleFontSize": 12}
_UNITS = {
    "input_bytes": (
        "Input bytes of the call",
        (
            "datum.value < 1e3 ? format(datum.value, ',.3~r') + ' B' "
            ": datum.value < 1e6 ? format(datum.value / 1e3, ',.3~r') + ' kB' "
            ": datum.value < 1e9 ? format(datum.value / 1e6, ',.3~r') + ' MB' "
            ": format(datum.value / 1e9, ',.3~r') + ' GB'"
        ),
        "GB/s",
    ),
    "flops": (
        "FLOP of the call",
        "datum.value < 1e9 ? format(datum.value / 1e6, ',.3~r') + ' M' : format(datum.value / 1e9, ',.3~r') + ' G'",
        "GFLOP/s",
    ),
}
"""Column → title of its axis, its labels, and the unit of a rate."""


def rates_chart(frame: pd.DataFrame, column: Literal["input_bytes", "flops"]) -> alt.LayerChart:
    """Draw one mark per result; a hollow one is near its floor.

    Args:
        frame: columns model, variant, backend, work, value (seconds), judged, time, rate.
        column: what the work is.
    """
    title, labels, unit = _UNITS[column]
    low, high = axes.log_domain(frame["work"])
    # The right end has room for the names of the rates.
    across, up = (low, high * (high / low) ** 0.08), axes.log_domain(frame["value"])
    x = alt.X(
        "work:Q",
        scale=alt.Scale(type="log", domain=list(across), nice=False),
        axis=alt.Axis(title=f"{title} (log scale)", labelExpr=labels, values=axes.log_ticks(across), **_FONTS),
    )
    y = axes.log_height("value", up, "Time of one call (log scale; lower is faster)", axes.SHORT_SECONDS)
    lines, names = _equal_rates(across, up, unit)
    diagonals = (
        alt.Chart(lines)
        .mark_line(color=palette.NEUTRAL, strokeWidth=1, strokeDash=[4, 4], clip=True)
        .encode(x=x, y=y, detail="rate:N")
    )
    texts = (
        alt.Chart(names)
        .mark_text(color=palette.NEUTRAL, align="right", dx=-4, dy=-7, fontSize=11)
        .encode(x=x, y=y, text="rate:N")
    )
    return layered(diagonals, texts, _marks(frame, x, y), height=HEIGHT_PX)


def _marks(frame: pd.DataFrame, x: alt.X, y: alt.Y) -> alt.Chart:
    colour, shape, _ = axes.series(frame)
    tooltip = drawing.tooltip(model="Operator", variant="Backend", time="Time of a call", rate="Rate")
    return (
        alt.Chart(frame)
        .mark_point(size=75, strokeWidth=1.8, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, fill=axes.filled("datum.judged", colour), tooltip=tooltip)
    )


def _equal_rates(across: tuple[float, float], up: tuple[float, float], unit: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lines of powers of ten that cross the drawing, and where each is named: at its upper right end."""
    slowest, fastest = across[0] / up[1], across[1] / up[0]
    powers = range(math.ceil(math.log10(slowest)), math.floor(math.log10(fastest)) + 1)
    names = [f"{10.0**power / 1e9:g} {unit}" for power in powers]
    ends = [min(across[1], up[1] * 10.0**power) for power in powers]
    lines = pd.DataFrame(
        {
            "rate": [name for name in names for _ in across],
            "work": [work for _ in powers for work in across],
            "value": [work / 10.0**power for power in powers for work in across],
        }
    )
    values = [work / 10.0**power for power, work in zip(powers, ends, strict=True)]
    return lines, pd.DataFrame({"rate": names, "work": ends, "value": values})
