"""Times as dots on a logarithmic axis, with the time of an empty sync as a tick below each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import answers
from dashboard.answers import SECTION
from dashboard.charts import drawing, op_times
from dashboard.rows import each, sections
from dashboard.screens import choosing, opening
from dashboard.settings import CHART_MODELS
from dashboard.words import count, escape, interval, missing, ratio, seconds
from store.floor import NEAR_FLOOR

if TYPE_CHECKING:
    from dashboard.view import View

ORDERS = ("Longest first", "Lowest speedup first", "Name")
_TRAIN, _WHOLE = "train", "Whole call"
PARTS: dict[str, str] = {_WHOLE: "latency_s", "Forward alone": "forward_s", "Backward alone": "backward_s"}
"""Label → column: of train calls."""
_FAR = 10.0
"""A floor that many times below the shortest time is not drawn: the axis would be all empty."""


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw one chart per test and accelerator."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        order = choosing.segments("Order", ORDERS, "order")
        trained = (rows["test"] == _TRAIN).any()
        part = PARTS[choosing.segments("Time of train calls", list(PARTS), "part") if trained else _WHOLE]
    for keys, mine in sections(rows[rows["latency_s"].notna()], SECTION):
        _chart(view, keys, mine, order, part if keys[0] == _TRAIN else PARTS[_WHOLE])


def _chart(view: View, keys: tuple[str, ...], rows: pd.DataFrame, order: str, column: str) -> None:
    drawn = rows[rows[column] > 0]
    what = {"latency_s": "", "forward_s": " · forward alone", "backward_s": " · backward alone"}[column]
    st.subheader(f"{answers.section_title(keys)}{what}", anchor=False)
    if drawn.empty:
        st.caption("No result tells its forward and backward apart.")
        return
    models = list(dict.fromkeys(_ordered(drawn, order, column)["model"]))
    if len(models) > CHART_MODELS:
        st.caption(f"The first {CHART_MODELS} of {count(len(models), 'operator')} in this order; the table has all.")
    points = _points(drawn[drawn["model"].isin(models[:CHART_MODELS])], column)
    near = points["floor"] >= points["value"].min() / _FAR
    picked = drawing.selectable(
        op_times.dots(points.assign(floor=points["floor"].where(near)), models[:CHART_MODELS]),
        key=f"times-{'-'.join(keys)}",
        text=f"Time of one call by operator, {' '.join(keys)}, with the time of an empty sync",
    )
    opening.from_chart(view, picked)
    st.caption(_told(points, view.selection.baseline))


def _ordered(rows: pd.DataFrame, order: str, column: str) -> pd.DataFrame:
    if order == ORDERS[2]:
        return rows.sort_values("model", key=lambda names: names.str.lower())
    if order == ORDERS[1]:
        return rows.sort_values(["speedup", "model"], na_position="last")
    return rows.sort_values([column, "model"], ascending=[False, True])


def _points(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the points; a phase of train waits once of the two times that its floor holds."""
    whole = column == "latency_s"
    every = list(each(rows))
    floors = [None if missing(row.floor_s) else row.floor_s / (1 if whole else 2) for row in every]
    values = [float(getattr(row, column)) for row in every]
    near = [
        bool(row.near_floor) if whole else floor is not None and value < NEAR_FLOOR * floor
        for row, floor, value in zip(every, floors, values, strict=True)
    ]
    return pd.DataFrame(
        {
            "model": [row.model for row in every],
            "suite": [row.suite for row in every],
            "test": [row.test for row in every],
            "variant": [row.series for row in every],
            "backend": [row.backend for row in every],
            "value": values,
            "low": pd.Series([row.latency_low_s if whole else None for row in every], dtype=float),
            "high": pd.Series([row.latency_high_s if whole else None for row in every], dtype=float),
            "floor": pd.Series(floors, dtype=float),
            "judged": [not each for each in near],
            "time": [seconds(value) for value in values],
            "floor_text": [seconds(floor) for floor in floors],
            "label": [_speedup(row, column) for row in every],
            "n": [int(row.steady_n) for row in every],
        }
    )


def _speedup(row: Any, column: str) -> str:
    if column != "latency_s":
        return f"{ratio(getattr(row, column.replace('_s', '_speedup')))} (no interval)"
    why = "" if missing(row.verdict_reason) else f": {row.verdict_reason}"
    return f"{ratio(row.speedup)} ({interval(row.speedup_low, row.speedup_high)}){why}"


def _told(points: pd.DataFrame, baseline: str) -> str:
    """Say what the marks mean, and what an empty sync takes under each backend."""
    floors = points[points["floor"].notna()].groupby("variant")["floor"].median()
    texts = [f"{escape(str(name))} {seconds(value)}" for name, value in floors.items()]
    said = (
        f"A grey tick is the time of an empty sync, the floor of what can be measured ({'; '.join(texts)}). "
        if texts
        else "The time of an empty sync was not measured. "
    )
    return said + (
        f"A hollow mark is below {NEAR_FLOOR:g} times its floor: mostly synchronisation, so there is no verdict over "
        f"{escape(baseline)}. A floor far below all times is left out of the drawing."
    )
