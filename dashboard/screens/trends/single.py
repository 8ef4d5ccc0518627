"""One model over the runs: a number of its own, the confirmed changes of its latency, and the marks of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, downloads
from dashboard.charts import history
from dashboard.rows import each, with_series
from dashboard.screens import choosing
from dashboard.screens.trends import overall
from dashboard.words import STATUS_WORDS, TIMES, count, escape, missing
from store.metrics import metric
from store.paired.sources import RULE, changed

if TYPE_CHECKING:
    from dashboard.view import View

MEASURES = {
    "Latency": "latency_s",
    "First iteration": "first_iteration_s",
    "Compiler time": "compiler_time_s",
    "Peak memory": "peak_memory_bytes",
}
_REASONS = 4
_TITLE = "One model over the runs"


def show(view: View, keys: tuple[str, ...], wanted: tuple[str, ...], moved: pd.DataFrame, marks: pd.DataFrame) -> None:
    """Say how many models of a test, accelerator and suite changed; draw one of them where that is opened.

    It stands open where the link names a model or a number.
    """
    mine = moved[(moved["test"] == keys[0]) & (moved["accelerator"] == keys[1]) & (moved["suite"] == keys[2])]
    changed = mine.loc[mine["run_after"].isin(wanted), "model"].nunique()
    title = f"{_TITLE} · {count(changed, 'model')} with a confirmed change" if changed else _TITLE
    named = bool(st.query_params.get("of_model") or st.query_params.get("number"))
    with st.expander(title, key="one-model", expanded=named, on_change="rerun") as part:
        if part.open:
            _one(view, keys, wanted, mine, marks)


def _one(view: View, keys: tuple[str, ...], wanted: tuple[str, ...], mine: pd.DataFrame, marks: pd.DataFrame) -> None:
    of = {"runs": list(wanted), "of_test": keys[0], "of_accelerator": keys[1], "of_suite": keys[2]}
    models = [str(name) for name in data.rows(view.snapshot, "trend_models", view.selection, **of)["model"]]
    if not models:
        st.info("These runs planned no model that passes the filters.", icon=":material/info:")
        return
    model, name = _boxes(_interesting(models, mine))
    if keys[2] == "own":
        earlier = data.rows(view.snapshot, "earlier_sources", view.selection, runs=list(wanted))
        said = changed(earlier[earlier["model"] == model].to_dict("records"))
        st.caption(escape(" ".join([RULE, *said])))
    rows = with_series(data.rows(view.snapshot, "trend_history", view.selection, of_model=model, **of))
    known = rows[rows[name].notna()]
    if known.empty:
        st.info(f"No run has a {metric(name).label.lower()} of {escape(model)}.")
    else:
        mine = mine[(mine["model"] == model) & mine["series_id"].isin(rows["series_id"])]
        events = overall.events_of(marks, rows, mine if name == "latency_s" else None)
        chart = history.lines(_points(known, name), metric(name).header, events=events)
        overall.clicked(view, chart, f"model-{name}", f"{metric(name).label} of {model} over the runs")
        st.caption(f"{metric(name).definition} Dashed lines: confirmed changes. Solid lines: users' marks.")
    _without(rows, name)
    sql = data.statement("trend_history", view.selection, of_model=model, **of)
    downloads.below(rows, "model-numbers", view.file_name("trend-of-model"), sql)


def _boxes(models: list[str]) -> tuple[str, str]:
    choosing.notice_unknown("Model", models, "of_model")
    choosing.notice_unknown("Number", list(MEASURES), "number")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    model = left.selectbox("Model", models, key="of_model", bind="query-params", label_visibility="collapsed")
    with right:
        measure = st.segmented_control(
            "Number",
            list(MEASURES),
            default="Latency",
            required=True,
            key="number",
            bind="query-params",
            label_visibility="collapsed",
        )
    return str(model or models[0]), MEASURES[measure or "Latency"]


def _interesting(models: list[str], moved: pd.DataFrame) -> list[str]:
    """Put the models with the newest confirmed changes first."""
    changed = [name for name in dict.fromkeys(moved["model"]) if name in models]
    return [*changed, *(name for name in models if name not in changed)]


def _points(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows as points in the unit in which the metric is shown."""
    known = metric(name)
    unit = known.display_unit or known.unit
    values = [known.shown(value) for value in rows[name]]
    labels = [f"{value:,.4g} {unit}, n = {n:.0f}" for value, n in zip(values, rows["steady_n"], strict=True)]
    ends = {"low": "latency_low_s", "high": "latency_high_s"} if name == "latency_s" else {}
    shown: dict[str, Any] = {end: [known.shown(value) for value in rows[column]] for end, column in ends.items()}
    return history.points(rows, values, labels).assign(**shown)


def _without(rows: pd.DataFrame, name: str) -> None:
    """Say how many results have no such number, and why."""
    absent = rows[rows[name].isna()]
    if absent.empty:
        return
    why = [
        str(row.reason) if not missing(row.reason) else STATUS_WORDS.get(row.status, str(row.status))
        for row in each(absent)
    ]
    reasons = pd.Series(why).value_counts()
    said = "; ".join(f"{n} {TIMES} {escape(str(text)[:160])}" for text, n in reasons.head(_REASONS).items())
    st.caption(f"{count(len(absent), 'result')} without it: {said}")
