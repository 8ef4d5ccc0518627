"""Compile time: several numbers side by side that are never added, each with the state of the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.charts import durations
from dashboard.rows import each, sections
from dashboard.settings import CHART_MODELS
from dashboard.tables import Column
from dashboard.words import STATUS_WORDS, count, escape, seconds

if TYPE_CHECKING:
    from dashboard.view import View


@dataclass(frozen=True)
class Measure:
    """One of the compile-time numbers."""

    column: str
    label: str
    meaning: str


MEASURES = {
    measure.label: measure
    for measure in (
        Measure("first_iteration_s", "First iteration", "The first block minus the steady median."),
        Measure("time_to_steady_s", "Time to steady", "What a user waits over the warm-up beyond steady iterations."),
        Measure(
            "compiler_time_s",
            "Reported by the compiler",
            "Dynamo's own compile time, or XLA's CompileTime for lazy tensors; dynamo's entries contain XLA's.",
        ),
        Measure(
            "compile_peer_s",
            "Peer's rule",
            "First block minus the mean of the rest, as PyTorch/XLA's aggregator has it.",
        ),
    )
}


def show(view: View) -> None:
    """Draw the page."""
    rows = data.rows(view.snapshot, "compile_times", view.selection)
    chosen = MEASURES[_picked(first=True)]
    frame.head("Compile time", view, _sentences(rows, chosen), len(rows), baseline=False)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    st.segmented_control(
        "Measure",
        list(MEASURES),
        default="First iteration",
        required=True,
        key="measure",
        bind="query-params",
        persist_state="session",
    )
    st.caption(f"{chosen.meaning} The measures overlap: never add them.")
    drawn = rows[rows[chosen.column] > 0]
    for keys, part in sections(drawn, ["test", "accelerator", "suite"]):
        _chart(keys, part, chosen)
    unseen = int((rows[chosen.column] <= 0).sum())
    if unseen:
        st.caption(f"{count(unseen, 'value')} at or below 0 s (noise) cannot stand on a log axis; the table has them.")
    _table(view, rows)


def _picked(*, first: bool) -> str:
    """Return the measure in use, before its widget is drawn under the sentence that names it."""
    value = st.session_state.get("measure") or st.query_params.get("measure")
    return value if first and value in MEASURES else "First iteration"


def _sentences(rows: pd.DataFrame, chosen: Measure) -> list[str]:
    found = rows[rows[chosen.column].notna()] if len(rows) else rows
    if found.empty:
        return [f"No result of this view has a value for “{chosen.label}”"]
    texts = []
    for keys, part in sections(found, ["test", "accelerator"]):
        medians = part.groupby("variant")[chosen.column].agg(["median", "count"]).sort_values("median", ascending=False)
        words = ", ".join(
            f"**{escape(name)}** {seconds(row['median'])} (n = {int(row['count'])})" for name, row in medians.iterrows()
        )
        texts.append(f"{chosen.label}, median over models in {answers.section_title(keys)}: {words}")
    return texts


def _chart(keys: tuple[str, ...], part: pd.DataFrame, chosen: Measure) -> None:
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(part.groupby("model")[chosen.column].max().sort_values(ascending=False).index)
    if len(models) > CHART_MODELS:
        st.caption(f"The {CHART_MODELS} longest of {count(len(models), 'model')}; the table has all.")
        models = models[:CHART_MODELS]
    shown = part[part["model"].isin(models)]
    points = pd.DataFrame(
        {
            "model": shown["model"],
            "variant": shown["variant"],
            "backend": shown["backend"],
            "value": shown[chosen.column],
            "label": [seconds(value) for value in shown[chosen.column]],
            "warm": shown["cache"] == "warm",
            "cache": shown["cache"].fillna("unknown"),
            "graphs": ["unknown" if pd.isna(number) else f"{int(number)}" for number in shown["graphs_number"]],
        }
    )
    st.altair_chart(
        durations.duration_dots(points, models, chosen.label),
        key="durations-" + "-".join(keys),
        alt=f"{chosen.label} by model, {' '.join(keys)}",
    )
    if points["warm"].any():
        st.caption("A hollow mark had a warm compile cache.")


def _table(view: View, rows: pd.DataFrame) -> None:
    st.subheader("All results", anchor=False)
    listed = rows.copy()
    listed["status"] = [STATUS_WORDS.get(status, status) for status in rows["status"]]
    listed["why"] = [_why(row) for row in each(rows)]
    columns = tables.without_constant(_columns(), listed, ["environment", "dtype", "accelerator", "suite", "start"])
    tables.show(
        listed, columns, key="compile", alt="Compile times of each result", file_name=view.file_name("compile-time")
    )


def _why(row: object) -> str | None:
    """Return why a compile number is missing."""
    reason = getattr(row, "reason", None)
    if isinstance(reason, str) and reason:
        return reason
    if pd.isna(getattr(row, "compiler_time_s", None)):
        return (
            "the backend reports no compile time"
            if getattr(row, "backend", "") != "eager"
            else "eager does not compile"
        )
    return None


def _columns() -> dict[str, Column]:
    by_column = {measure.column: measure for measure in MEASURES.values()}
    times = {
        name: Column(f"{measure.label}, s", "seconds", help=measure.meaning) for name, measure in by_column.items()
    }
    return {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend", help="Backend plus every compile setting that is not default."),
        "environment": Column("Environment"),
        **times,
        "compiler_source": Column("Reported by", help="Which compiler's clock the reported time is from."),
        "graphs_number": Column("Graphs", "number", help="Number of graphs the model was cut into."),
        "cache": Column("Cache", help="cold: every compile cache was empty; warm: filled by an earlier child."),
        "start": Column("Start", help="fork or interpreter: compile times of the two are not comparable."),
        "runtime_start_s": Column(
            "Runtime start, s", "seconds", help="Start of the PJRT client; no part of compile time."
        ),
        "status": Column("Status"),
        "why": Column("Why missing", width="large"),
    }
