"""Experiments of a run, those without a number first; a selected one opens on the model page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, doubts, links, rerun, tables
from dashboard.screens.model import named
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the table; a selected row goes to the model page, which has the samples, files and record behind it."""
    st.caption("Those without a number first. Select a row for its samples, files, reproduce command and record.")
    rows = rows.sort_values("ran", kind="stable")
    listed = doubts.marked(rows).assign(status=[STATUS_WORDS.get(status, status) for status in rows["status"]])
    same = ["suite", "accelerator", "dtype", "attempt", "replicas_n", "failure_phase", "doubt"]
    columns = tables.without_constant(_columns(), listed, same)
    position = tables.show(
        listed,
        columns,
        key="experiments",
        alt="Experiments of the run; select one to open it",
        file_name=view.file_name("run"),
        sql=data.statement("experiments", view.selection),
        on_select="rerun",
    )
    rerun.offer(view, rerun.of_rows(rows), key="experiments")
    if position is not None and position < len(rows):
        row = rows.iloc[position]
        chosen = {name: str(row[name]) for name in ("suite", "model", "test")}
        links.go(view, "model", **chosen, result=_named(rows, row))


def _named(rows: pd.DataFrame, row: pd.Series) -> str:
    """Return what page Model calls the result: by the settings in which those of its model differ."""
    same = (rows["suite"] == row["suite"]) & (rows["model"] == row["model"]) & (rows["test"] == row["test"])
    names = named(rows[same].drop(columns="series").sort_values(["accelerator", "variant", "environment"]))
    return str(names["series"].to_dict()[row.name])


def _columns() -> dict[str, Column]:
    return {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "series": Column("Backend", pinned=True),
        "doubt": doubts.COLUMN,
        "status": Column("Status"),
        "failure_phase": Column("Phase", help="How far a failed experiment came."),
        "reason": Column("Why no number"),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "verification_code": Column("Verification", "code", hidden=True),
        "dtype": Column("Dtype"),
        "batch_size": measured("batch_size", hidden=True),
        "replicas_n": measured("replicas_n"),
        "attempt": measured("attempt", hidden=True),
        "reproduce": Column("Reproduce", hidden=True),
    }
