"""Backends side by side: what each gave for the model, or why it gave nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, doubts, rerun, tables
from dashboard.answers import verdict
from dashboard.rows import each
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, escape, interval, missing, seconds

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.selection import Selection
    from dashboard.view import View


def failures(rows: pd.DataFrame) -> list[str]:
    """Return one sentence per result that was attempted and gave no number."""
    failed = [row for row in each(rows) if not row.ran and row.status not in ("skipped", "not_run", "verify_only")]
    return [
        f"**{escape(row.series)}**: {escape(STATUS_WORDS.get(row.status, row.status))}"
        + ("" if missing(row.reason) else f", {escape(row.reason)}")
        for row in failed
    ]


def answers(rows: pd.DataFrame, view: View, model: str) -> list[str]:
    """Return the fastest backend, each speedup over the baseline from the lowest on, and what failed."""
    ran = rows[rows["ran"] & rows["latency_s"].notna()]
    if ran.empty:
        return [f"**{escape(model)}** gave no latency in this run", *failures(rows)]
    best = ran.sort_values("latency_s").iloc[0]
    name = f"**{escape(best['series'])}**"
    number = f"{seconds(best['latency_s'])} an iteration (n = {int(best['steady_n'])})"
    said = f"**{escape(model)}** is fastest with {name}: {number}"
    if _is_undecided(ran, best, view.selection.baseline):
        said = f"**{escape(model)}**: no backend is shown to be the fastest; {name} has the lowest latency, {number}"
    return [said, *_speedups(rows, view), *failures(rows)]


def _is_undecided(ran: pd.DataFrame, best: Any, baseline: str) -> bool:
    """Tell whether the interval of a speedup leaves open that another backend is as fast: ours, or the baseline's."""
    known = ran[ran["speedup_low"].notna()]
    if best["variant"] != baseline:
        known = known[known["series"] == best["series"]]
    return bool(((known["speedup_low"] <= 1) & (known["speedup_high"] >= 1) & (known["variant"] != baseline)).any())


def _speedups(rows: pd.DataFrame, view: View) -> list[str]:
    baseline = view.selection.baseline
    known = rows[rows["speedup"].notna() & (rows["variant"] != baseline)].sort_values("speedup")
    return [
        verdict(row.series, row.speedup, row.speedup_low, row.speedup_high, baseline=baseline) for row in each(known)
    ]


def show(view: View, rows: pd.DataFrame, selection: Selection) -> None:
    """Draw the table, and the reasons of what is missing in it."""
    st.subheader("Backends side by side", anchor=False)
    every = list(each(rows))
    reasons: list[Any] = [_why(row) for row in every]
    listed = doubts.marked(rows).assign(
        status=[STATUS_WORDS.get(row.status, row.status) for row in every],
        interval=[interval(row.speedup_low, row.speedup_high) for row in every],
        why=reasons,
    )
    columns = tables.without_constant(
        _columns(view), listed, ["dtype", "batch_size", "cache", "status", "why", "doubt"]
    )
    tables.show(
        listed,
        columns,
        key="sides",
        alt="Results of the model by backend",
        file_name=view.file_name("model"),
        sql=data.statement("sides", selection),
        whole=True,
    )
    rerun.offer(view, rerun.of_rows(rows), key="model")


def _why(row: Any) -> str | None:
    if not missing(row.speedup):
        return None
    return next((str(text) for text in (row.reason, row.speedup_reason) if not missing(text) and text), None)


def _columns(view: View) -> dict[str, Column]:
    return {
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": Column("95 %", help="Interval of the speedup; needs 6 samples on both sides."),
        "status": Column("Status"),
        "doubt": doubts.COLUMN,
        "why": Column("Why no speedup"),
        "verification_code": Column("Verification", "code"),
        "throughput_per_s": measured("throughput_per_s"),
        "first_iteration_s": measured("first_iteration_s", "First iteration"),
        "compiler_time_s": measured("compiler_time_s", "Compiler"),
        "graphs_number": measured("graphs_number"),
        "peak_memory_bytes": measured("peak_memory_bytes", "Memory"),
        "fallback_ops_n": measured("fallback_ops_n", "Fallbacks"),
        "graph_breaks_n": measured("graph_breaks_n", "Breaks"),
        "cache": Column("Cache", hidden=True),
        "dtype": Column("Dtype", hidden=True),
        "batch_size": measured("batch_size", hidden=True),
    }
