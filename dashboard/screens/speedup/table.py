"""Every result with its speedup, latency and throughput; a row opens the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, rerun
from dashboard.rows import each
from dashboard.screens import opening
from dashboard.screens.overview.cells import last_runs
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, interval, missing
from store.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_BASELINE = "the baseline"
_CROSS = "cross-device: a ratio without interval and verdict"


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the table."""
    st.subheader("All results", anchor=False)
    notes: list[Any] = [_note(row) or None for row in each(rows)]
    listed = _with_history(view, rows).assign(
        status=[STATUS_WORDS.get(status, status) for status in rows["status"]],
        interval=[interval(row.speedup_low, row.speedup_high) for row in each(rows)],
        speedup_reason=notes,
    )
    opening.table(
        view,
        listed,
        _columns(view),
        key="speedups",
        alt="Speedup, latency and throughput of each result",
        file_name="speedup",
        sql=data.statement("speedups", view.selection),
        told_once=("dtype", "accelerator", "suite", "speedup_reason"),
    )
    rerun.offer(view, rerun.of_rows(rows), key="speedup")


def _with_history(view: View, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the latencies of the last runs of the series, where there are several."""
    known = data.rows(view.snapshot, "latency_history", view.selection, runs=last_runs(view)["runs"])
    lines = {(row.experiment_id, row.environment): list(row.trend) for row in each(known)}
    found: list[Any] = [lines.get((row.experiment_id, row.environment)) for row in each(rows)]
    return rows.assign(trend=found) if any(found) else rows


def _note(row: Any) -> str:
    if row.speedup == 1 and row.record_id == row.baseline_record_id:
        return _BASELINE
    if row.cross_device and missing(row.speedup_reason):
        return _CROSS
    return "" if missing(row.speedup_reason) else str(row.speedup_reason)


def _columns(view: View) -> dict[str, Column]:
    return {
        "model": Column("Model", pinned=True),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "test": Column("Test"),
        "suite": Column("Suite"),
        "accelerator": Column("Accelerator"),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": Column("95 %", help="Interval of the speedup; needs 6 samples on both sides."),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help=metric("steady_n").definition),
        "baseline_latency_s": measured("baseline_latency_s", "Baseline", f"Baseline: {view.baseline_text}."),
        "baseline_steady_n": Column("n, baseline", "number", help=metric("baseline_steady_n").definition, hidden=True),
        "trend": Column("Last runs", "line", help="Latency in the last runs of the series, the oldest first."),
        "throughput_per_s": Column("Samples/s", "decimal", help=metric("throughput_per_s").definition),
        "batch_size": Column("Batch size", "number", help=metric("batch_size").definition, hidden=True),
        "status": Column("Status", hidden=True),
        "speedup_reason": Column("Note", help="Why there is no speedup, or what to know about it."),
        "dtype": Column("Dtype"),
    }
