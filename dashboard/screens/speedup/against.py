"""One backend against another: each model a point, by latency or by speedup over the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import answers, data
from dashboard.answers import SECTION
from dashboard.charts import against
from dashboard.rows import each, sections
from dashboard.screens import choosing, opening, places
from dashboard.tables import Column
from dashboard.words import interval, missing, ratio, seconds
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

BY = ("Latency", "Speedup")
_MS_PER_S = 1000


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the choice of A and B, one chart per test and accelerator, and the pairs."""
    pair = _choose(view, rows)
    if pair is None:
        st.info("This view has only one backend, so there is nothing to compare it with.", icon=":material/info:")
        return
    a, b, _ = pair
    found = data.rows(view.snapshot, "against", view.selection, series_a=a, series_b=b)
    for place, (keys, part) in places.abreast(sections(found, SECTION)):
        with place:
            _chart(view, keys, part, pair)
    _table(view, found, a, b)


def _chart(view: View, keys: tuple[str, ...], part: pd.DataFrame, pair: tuple[str, str, str]) -> None:
    a, b, by = pair
    points = _points(part, a, b, by)
    st.subheader(answers.section_title(keys), anchor=False)
    if points.empty:
        st.caption("No model has a number on both sides; the table says why.")
        return
    picked = st.altair_chart(
        against.scatter(points, a, b, by),
        key="against-" + "-".join(keys),
        on_select="rerun",
        alt=f"{by} of {b} against {a} by model, {' '.join(keys)}",
    )
    opening.from_chart(view, picked)


def _choose(view: View, rows: pd.DataFrame) -> tuple[str, str, str] | None:
    """Draw the widgets; B is what the view has, A any other."""
    variants = sorted(rows["variant"].unique(), key=_rank)
    firsts = list(dict.fromkeys([view.selection.baseline, *variants]))
    seconds_ = [name for name in variants if name != view.selection.baseline] or variants
    if len(firsts) < 2 or not seconds_:  # noqa: PLR2004 - a pair
        return None
    left, middle, right = st.columns([2, 2, 1])
    choosing.notice_unknown("A", firsts, "series_a")
    choosing.notice_unknown("B", variants, "series_b")
    a = left.selectbox("A", firsts, key="series_a", bind="query-params")
    offered = [name for name in [*seconds_, *variants] if name != a]
    b = middle.selectbox("B", list(dict.fromkeys(offered)), key="series_b", bind="query-params")
    with right:
        by = choosing.segments("By", BY, "by")
    return str(a), str(b), by


def _rank(variant: str) -> tuple[int, str]:
    """Put XLA's backends before others, eager last: what one wants to set against the baseline."""
    return (0 if variant.startswith("openxla") else 2 if variant.startswith("eager") else 1, variant)


def _points(part: pd.DataFrame, a: str, b: str, by: str) -> pd.DataFrame:
    columns = ("latency_a_s", "latency_b_s") if by == BY[0] else ("speedup_a", "speedup_b")
    scale = _MS_PER_S if by == BY[0] else 1
    known = part[part["ratio"].notna() & (part[columns[0]] > 0) & (part[columns[1]] > 0)]
    return pd.DataFrame(
        {
            "model": known["model"],
            "suite": known["suite"],
            "test": known["test"],
            "a": known[columns[0]] * scale,
            "b": known[columns[1]] * scale,
            "outcome": [_outcome(row, a, b) for row in each(known)],
            "label": [f"{ratio(row.ratio)} ({interval(row.ratio_low, row.ratio_high)})" for row in each(known)],
            "of_a": [seconds(value) for value in known["latency_a_s"]],
            "of_b": [seconds(value) for value in known["latency_b_s"]],
            "n": [f"{int(row.n_b)} against {int(row.n_a)} samples" for row in each(known)],
        }
    )


def _outcome(row: Any, a: str, b: str) -> str:
    """Say on which side of 1 the interval lies."""
    if missing(row.ratio_low):
        return against.UNKNOWN
    if row.ratio_low > 1:
        return f"{b} faster"
    return f"{a} faster" if row.ratio_high < 1 else against.BETWEEN


def _table(view: View, found: pd.DataFrame, a: str, b: str) -> None:
    shown = found.assign(interval=[interval(row.ratio_low, row.ratio_high) for row in each(found)])
    latency = metric("latency_s").definition
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "latency_a_s": Column(f"A: {a}, ms", "ms", help=latency),
        "n_a": Column("n of A", "number", help=metric("steady_n").definition),
        "latency_b_s": Column(f"B: {b}, ms", "ms", help=latency),
        "n_b": Column("n of B", "number", help=metric("steady_n").definition),
        "ratio": Column("A / B", "ratio", help="Latency of A over latency of B: above 1, B is faster."),
        "interval": Column("95 %", help="Interval of the ratio; needs 6 samples on both sides."),
        "reason": Column("Why missing"),
    }
    opening.table(
        view,
        shown,
        columns,
        key="against",
        alt=f"{b} against {a} by model",
        file_name="a-against-b",
        sql=data.statement("against", view.selection, series_a=a, series_b=b),
        told_once=("accelerator", "suite", "reason"),
    )
