"""Every confirmed change of a latency, the newest first, and the marks of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, links, tables, verdicts
from dashboard.rows import each, with_series
from dashboard.tables import Column, measured
from dashboard.words import interval, missing
from store.changepoints.detect import LAST_POINTS, MIN_POINTS
from store.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_NAMES = (
    "suite",
    "model",
    "test",
    "backend",
    "variant",
    "environment",
    "accelerator",
    "accelerator_model",
    "machine_id",
)


def show(view: View, moved: pd.DataFrame, marks: pd.DataFrame) -> None:
    """Draw both lists."""
    st.subheader("Confirmed changes", anchor=False)
    if moved.empty:
        st.markdown(
            f"None. A change is looked for in the newest {LAST_POINTS} runs of each series, from {MIN_POINTS} runs on."
        )
    else:
        _changes(view, moved)
    if len(marks):
        st.subheader("Marks", anchor=False)
        _marks(view, marks)


def _changes(view: View, moved: pd.DataFrame) -> None:
    listed = with_series(moved)
    listed = listed.assign(
        verdict=[verdicts.look("slower" if ratio > 1 else "faster").text for ratio in moved["change_ratio"]],
        interval=[interval(row.change_low, row.change_high) for row in each(moved)],
        runs=[f"{row.before_n} → {row.after_n}" for row in each(moved)],
    )
    columns = tables.without_constant(
        {
            "started_after": Column("Since", "time", help="UTC; start of the first run after the change.", pinned=True),
            "verdict": Column("Verdict", "verdict"),
            "model": Column("Model"),
            "test": Column("Test"),
            "series": Column("Backend", help="Backend plus every setting in which rows differ."),
            "suite": Column("Suite"),
            "accelerator": Column("Accelerator"),
            "change_ratio": measured("change_ratio", "Change"),
            "interval": Column("95 %", help="Interval of the change."),
            "latency_before_s": measured("latency_before_s", "Before"),
            "latency_after_s": measured("latency_after_s", "After"),
            "runs": Column("Runs", help="Runs before and after the change that the medians rest on."),
            "p_value": Column("p", "decimal", help=metric("p_value").definition),
            "run_label": Column("Label"),
        },
        listed,
        ["suite", "accelerator", "run_label"],
    )
    picked = tables.show(
        listed,
        columns,
        key="changes",
        alt="Confirmed changes of latencies",
        file_name=view.file_name("changes"),
        sql=data.statement("changes", view.selection),
        on_select="rerun",
    )
    st.caption("Select a change to compare the runs before and after it.")
    if picked is not None:
        row = moved.iloc[picked]
        links.go(view, "compare", a=row["run_before"], b=row["run_after"], model=[row["model"]])


def _marks(view: View, marks: pd.DataFrame) -> None:
    listed = marks.assign(of=[_of(row) for row in each(marks)])
    columns = {
        "marked_at": Column("From", "time", help="UTC; latencies from before and after it are not compared."),
        "text": Column("Why"),
        "of": Column("Of"),
        "who": Column("By"),
        "created_at": Column("Written", "time", help="UTC"),
    }
    tables.show(
        listed,
        columns,
        key="marks",
        alt="Marks of people",
        file_name=view.file_name("marks"),
        sql=data.statement("marks", view.selection),
    )


def _of(row: object) -> str:
    named = [f"{name} {value}" for name in _NAMES if not missing(value := getattr(row, name))]
    return ", ".join(named) or "all series"
