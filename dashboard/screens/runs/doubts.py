"""Measurement warnings: findings and warnings of every process of the run, not of the first one only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, tables
from dashboard.rows import each
from dashboard.tables import Column
from dashboard.words import count, escape
from store import advice

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_PROCESSES = "Measuring processes of the result in which it was found."


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw findings with what to do, then what else the runner said."""
    found = data.rows(view.snapshot, "run_findings", view.selection)
    if found.empty:
        st.markdown(f"There are no measurement warnings for these {count(len(rows), 'result')}.")
    else:
        _sums(found, len(rows))
        _table(view, found, "run_findings", _columns("text", "What was found") | _next())
    said = data.rows(view.snapshot, "run_warnings", view.selection)
    if len(said):
        st.markdown("**Other warnings**")
        _table(view, said, "run_warnings", _columns("warning", "Warning"))


def _sums(found: pd.DataFrame, results: int) -> None:
    """Count results by code: one result has a code once, however many of its processes found it."""
    numbers = found["code"].value_counts()
    lines = [
        f"- **{escape(advice.summary(str(code)))}**: {int(number)} of {count(results, 'result')}"
        for code, number in numbers.items()
    ]
    st.markdown("\n".join(lines))


def _table(view: View, frame: pd.DataFrame, name: str, columns: dict[str, Column]) -> None:
    shown = frame
    if "code" in frame.columns:
        shown = frame.assign(code=[advice.summary(row.code) for row in each(frame)])
    tables.show(
        shown,
        tables.without_constant(columns, shown, ["suite", "accelerator", "environment"]),
        key=name,
        alt="Measurement warnings of the results of the run",
        file_name=view.file_name(name.replace("_", "-")),
        sql=data.statement(name, view.selection),
    )


def _columns(text: str, label: str) -> dict[str, Column]:
    return {
        "code": Column("Kind", pinned=True),
        "model": Column("Model"),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend"),
        "environment": Column("Environment"),
        text: Column(label),
        "processes_n": Column("Processes", "number", help=_PROCESSES),
    }


def _next() -> dict[str, Column]:
    return {"next_step": Column("What to do")}
