"""Compile time: several numbers side by side that are never added, each with the state of the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.charts import durations
from dashboard.rows import each, sections, with_series
from dashboard.settings import CHART_MODELS
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, count, escape, seconds
from store.metrics import Metric, metric

if TYPE_CHECKING:
    from dashboard.view import View


MEASURES: dict[str, str] = {
    metric(name).label: name for name in ("first_iteration_s", "time_to_steady_s", "compiler_time_s", "compile_peer_s")
}
"""Label of each compile-time number in the registry → its column."""

FIRST = metric("first_iteration_s").label


def show(view: View) -> None:
    """Draw the page."""
    rows = with_series(data.results(view.snapshot, view.selection))
    chosen = metric(MEASURES[_picked()])
    frame.head("Compile time", view, _sentences(rows, chosen), len(rows), baseline=False)
    if rows.empty:
        empty.no_rows(view.selection, "results")
        return
    st.segmented_control(
        "Measure",
        list(MEASURES),
        default=FIRST,
        required=True,
        key="measure",
        bind="query-params",
    )
    st.caption(f"{chosen.definition} The measures overlap: never add them.")
    drawn = rows[rows[chosen.name] > 0]
    for keys, part in sections(drawn, ["test", "accelerator", "suite"]):
        _chart(keys, part, chosen)
    unseen = int((rows[chosen.name] <= 0).sum())
    if unseen:
        st.caption(f"{count(unseen, 'value')} at or below 0 s (noise) cannot stand on a log axis; the table has them.")
    _table(view, rows)


def _picked() -> str:
    """Return the measure in use: the sentence that names it stands above the widget that chooses it."""
    value = st.session_state.get("measure") or st.query_params.get("measure")
    return value if value in MEASURES else FIRST


def _sentences(rows: pd.DataFrame, chosen: Metric) -> list[str]:
    found = rows[rows[chosen.name].notna()] if len(rows) else rows
    if found.empty:
        return [f"No result of this view has a value for “{chosen.label}”"]
    texts = []
    for keys, part in sections(found, ["test", "accelerator"]):
        medians = part.groupby("series", as_index=False).agg(value=(chosen.name, "median"), n=(chosen.name, "count"))
        ordered = each(medians.sort_values("value", ascending=False))
        words = ", ".join(f"**{escape(row.series)}** {seconds(row.value)} (n = {row.n})" for row in ordered)
        texts.append(f"{chosen.label} (median over models) in {' on '.join(keys)}: {words}")
    return texts


def _chart(keys: tuple[str, ...], part: pd.DataFrame, chosen: Metric) -> None:
    st.subheader(answers.section_title(keys), anchor=False)
    models = list(part.groupby("model")[chosen.name].max().sort_values(ascending=False).index)
    if len(models) > CHART_MODELS:
        st.caption(f"The {CHART_MODELS} longest of {count(len(models), 'model')}; the table has all.")
        models = models[:CHART_MODELS]
    shown = part[part["model"].isin(models)]
    points = pd.DataFrame(
        {
            "model": shown["model"],
            "variant": shown["series"],
            "backend": shown["backend"],
            "value": shown[chosen.name],
            "label": [seconds(value) for value in shown[chosen.name]],
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
    columns = tables.without_constant(_columns(), listed, ["accelerator", "suite", "start"])
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
    return {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        **{name: measured(name) for name in MEASURES.values()},
        "compiler_source": Column("Reported by", width=130, help="Which compiler's clock the reported time is from."),
        "graphs_number": measured("graphs_number"),
        "cache": Column("Cache", help="cold: every compile cache was empty; warm: filled by an earlier child."),
        "start": Column("Start", help="fork or interpreter: compile times of the two are not comparable."),
        "runtime_start_s": measured("runtime_start_s"),
        "status": Column("Status"),
        "why": Column("Why missing", width="large"),
    }
