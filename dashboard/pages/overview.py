"""Overview: the answers of one run first, then what needs attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.answers import SECTION
from dashboard.rows import each, sections
from dashboard.tables import Column
from dashboard.words import count, interval, missing, share

if TYPE_CHECKING:
    from dashboard.view import View

_FINDINGS: dict[str, str] = {
    "failed": "failed",
    "never steady": "never steady",
    "not run": "not run",
    "slower than baseline": "slower than the baseline",
}


def show(view: View) -> None:
    """Draw the page."""
    table = data.rows(view.snapshot, "overview", view.selection)
    if table.empty:
        frame.head("Overview", view, [], 0, baseline=True)
        empty.no_rows(view.selection, "results")
        return
    attention = data.rows(view.snapshot, "attention", view.selection)
    cells = _cells(table, view.selection.baseline)
    frame.head("Overview", view, [_state(view), *_geomeans(cells, view)], int(table["planned_n"].sum()), baseline=True)
    for keys, part in sections(cells, SECTION):
        st.subheader(answers.section_title(keys), anchor=False)
        tables.show(
            part,
            _columns(view, part),
            key="overview-" + "-".join(str(key) for key in keys),
            alt=f"Results by suite and backend, {keys[0]} on {keys[1]}",
            file_name=view.file_name("overview"),
            full_height=True,
        )
    _attention(view, attention)


def _state(view: View) -> str:
    """Say in one sentence whether the run is complete and what happened to its experiments."""
    run = view.run
    planned = "planned" if run["plan_known"] else "found in the file (no plan was recorded)"
    parts = [f"{count(int(run['planned_n']), 'experiment')} {planned}: {int(run['ran_n']):,} ran"]
    for name, word in (("failed_n", "failed"), ("skipped_n", "skipped"), ("not_run_n", "not run")):
        if run[name]:
            parts.append(f"{int(run[name]):,} {word}")
    complete = "complete" if run["complete"] else "**not complete**"
    return f"The run is {complete}. " + ", ".join(parts)


def _geomeans(cells: pd.DataFrame, view: View) -> list[str]:
    baseline = view.selection.baseline
    rows = cells[(cells["variant"] != baseline) & cells["geomean"].notna()]
    return [
        answers.geomean_sentence(
            row.variant,
            baseline,
            answers.Mean(row.geomean, _or_none(row.low), _or_none(row.high), int(row.paired_n)),
            f"{row.test} on {row.accelerator}, {row.suite}",
        )
        for row in each(rows)
    ]


def _or_none(value: float) -> float | None:
    return None if missing(value) else value


def _cells(table: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Add the texts and intervals that the table shows."""
    result = table.copy()
    means = [answers.mean_from(row.log_mean, row.log_sd, int(row.paired_n)) for row in each(table)]
    result["geomean"] = pd.array([mean.value for mean in means], dtype="Float64")
    result["low"] = pd.array([mean.low for mean in means], dtype="Float64")
    result["high"] = pd.array([mean.high for mean in means], dtype="Float64")
    result["interval"] = [interval(mean.low, mean.high) for mean in means]
    result["ran"] = [share(int(row.ran_n), int(row.planned_n)) for row in each(table)]
    result["verified"] = [
        share(int(row.verified_n), int(row.verify_asked_n)) if row.verify_asked_n else "not verified"
        for row in each(table)
    ]
    result["note"] = [_note(row, baseline) for row in each(table)]
    return result


def _note(row: object, baseline: str) -> str:
    """Return why a cell has no geomean, else what happened to the models that gave no number."""
    parts = []
    for name, word in (
        ("failed_n", "failed"),
        ("never_steady_n", "never steady"),
        ("skipped_n", "skipped"),
        ("not_run_n", "not run"),
    ):
        number = int(getattr(row, name))
        if number:
            parts.append(f"{number} {word}")
    if getattr(row, "variant", None) == baseline:
        parts.insert(0, "the baseline")
    elif not getattr(row, "paired_n", 0):
        parts.insert(0, f"no speedup: {getattr(row, 'no_speedup_reason', None) or 'no result'}")
    return ", ".join(parts)


def _columns(view: View, part: pd.DataFrame) -> dict[str, Column]:
    baseline = view.selection.baseline
    columns = {
        "suite": Column("Suite", pinned=True),
        "variant": Column("Backend", pinned=True, help="Backend plus every compile setting that is not default."),
        "environment": Column("Environment"),
        "ran": Column("Ran", help="Experiments that gave steady samples, of those planned for this row."),
        "verified": Column("Verified", help="Results whose outputs agreed with eager, of those that were checked."),
        "geomean": Column(
            f"Speedup over {baseline}",
            "ratio",
            help="Geometric mean over the models that are valid on both sides; above 1 is faster.",
        ),
        "interval": Column("95 % interval", help="Student's t on the logs of the models' speedups."),
        "paired_n": Column("Models (n)", "number", help="Models valid on both sides: the n of the geometric mean."),
        "first_iteration_s": Column(
            "First iteration, s (median)",
            "seconds",
            help="First block minus the steady median: what compilation costs.",
        ),
        "first_iteration_n": Column("n", "number", help="Models behind the median of the first iteration."),
        "fallback_models_n": Column(
            "Models with fallback ops", "number", help="Models that called an op XLA did not lower."
        ),
        "note": Column("Missing", help="Why models of this row have no number."),
    }
    return tables.without_constant(columns, part, ["environment"])


def _attention(view: View, found: pd.DataFrame) -> None:
    st.subheader("Needs attention", anchor=False)
    if found.empty:
        st.markdown("Nothing: every planned experiment ran, and none is slower than the baseline.")
        return
    numbers = found["finding"].value_counts()
    st.markdown(" · ".join(f"**{int(numbers[name])}** {word}" for name, word in _FINDINGS.items() if name in numbers))
    listed = found.copy()
    listed["interval"] = [interval(row.speedup_low, row.speedup_high) for row in each(found)]
    listed["why"] = [
        f"95 % interval is below 1, n = {int(row.steady_n)} and {int(row.baseline_steady_n)} (unconfirmed)"
        if row.finding == "slower than baseline"
        else row.reason or "no reason was recorded"
        for row in each(found)
    ]
    columns = {
        "finding": Column("Finding", pinned=True),
        "suite": Column("Suite"),
        "model": Column("Model"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend"),
        "environment": Column("Environment"),
        "failure_phase": Column("Phase", help="How far the experiment came."),
        "speedup": Column("Speedup", "ratio", help=f"Over {view.selection.baseline}; above 1 is faster."),
        "interval": Column("95 % interval"),
        "why": Column("Why", width="large"),
    }
    columns = tables.without_constant(columns, listed, ["environment", "accelerator", "suite"])
    tables.show(listed, columns, key="attention", alt="What needs attention", file_name=view.file_name("attention"))
