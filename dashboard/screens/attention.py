"""What needs attention in a run: failures, wrong answers, never steady, not run, slower than the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, tables
from dashboard.rows import each
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, interval, missing

if TYPE_CHECKING:
    from dashboard.view import View

_SLOWER = "slower than baseline"


def show(view: View) -> None:
    """Draw the list, the gravest first."""
    found = data.rows(view.snapshot, "attention", view.selection)
    st.subheader("Needs attention", anchor=False)
    if found.empty:
        st.markdown("Nothing: every planned experiment has a result, and none is slower than the baseline.")
        return
    numbers = found["finding"].value_counts()
    st.markdown(" · ".join(f"**{int(numbers[name])}** {name}" for name in dict.fromkeys(found["finding"])))
    every = list(each(found))
    listed = found.assign(
        finding=[_finding(row) for row in every],
        interval=[interval(row.speedup_low, row.speedup_high) for row in every],
        why=[_why(row) for row in every],
    )
    columns = tables.without_constant(_columns(view), listed, ["environment", "accelerator", "suite"])
    tables.show(listed, columns, key="attention", alt="What needs attention", file_name=view.file_name("attention"))


def _finding(row: Any) -> str:
    return STATUS_WORDS.get(row.status, str(row.status)) if row.finding == "failed" else str(row.finding)


def _why(row: Any) -> str:
    if row.finding == _SLOWER:
        return f"interval below 1, n = {int(row.steady_n)} against {int(row.baseline_steady_n)} samples; unconfirmed"
    return "no reason was recorded" if missing(row.reason) else str(row.reason)


def _columns(view: View) -> dict[str, Column]:
    return {
        "finding": Column("Finding", pinned=True),
        "suite": Column("Suite"),
        "model": Column("Model"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend"),
        "environment": Column("Environment"),
        "why": Column("Why", width=380),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": Column("95 %", help="Interval of the speedup; needs 6 samples on both sides."),
        "failure_phase": Column("Phase", help="How far the experiment came."),
    }
