"""Every result with its compile numbers; a row opens the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, rerun
from dashboard.rows import each
from dashboard.screens import opening
from dashboard.screens.compile_time.measures import NAMES
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS

if TYPE_CHECKING:
    from dashboard.view import View


_SEEN = ("first_iteration_s", "compiler_time_s", "time_to_steady_s", "graphs_number")
"""Numbers that are seen at first: with all of them the table would be wider than a window of 1440."""


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the table."""
    st.subheader("All results", anchor=False)
    listed = rows.copy()
    listed["status"] = [STATUS_WORDS.get(status, status) for status in rows["status"]]
    reasons: list[Any] = [_why(row) for row in each(rows)]
    listed["why"] = reasons
    opening.table(
        view,
        listed,
        _columns(),
        key="compile",
        alt="Compile times of each result",
        file_name="compile-time",
        sql=data.statement("results", view.selection),
        told_once=("accelerator", "suite", "start", "status"),
    )
    rerun.offer(view, rerun.of_rows(rows), key="compile")


def _why(row: Any) -> str | None:
    """Return why a compile number is missing."""
    if isinstance(row.reason, str) and row.reason:
        return row.reason
    if row.backend == "eager":
        return "eager does not compile"
    words = {"compiler_time_s": "the backend reports no compile time", "graphs_number": "it does not count graphs"}
    return "; ".join(text for name, text in words.items() if pd.isna(getattr(row, name))) or None


def _columns() -> dict[str, Column]:
    return {
        "model": Column("Model", pinned=True),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        **{name: measured(name, hidden=name not in _SEEN) for name in NAMES},
        "compiler_source": Column("Reported by", help="Which compiler's clock the reported time is from.", hidden=True),
        "cache": Column("Cache", help="cold: each compile cache was empty; warm: an earlier process had filled it."),
        "start": Column("Start", help="fork or interpreter: compile times of the two are not comparable.", hidden=True),
        "runtime_start_s": measured("runtime_start_s", hidden=True),
        "status": Column("Status"),
        "why": Column("Why missing"),
    }
