"""Overview: the answers of one run first, then what needs attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import answers, data, empty, frame, tables
from dashboard.answers import SECTION
from dashboard.charts import ratios
from dashboard.rows import each, sections, with_series
from dashboard.screens import attention
from dashboard.tables import Column, measured
from dashboard.words import DASH, count, escape, interval, missing, ratio, share, when
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

KEYS = [
    *("suite", "test", "accelerator", "accelerator_model", "machine_id", "environment", "dtype"),
    *("requested_batch_size", "optimizer", "loss", "matmul_precision", "workload", "backend", "variant"),
]
"""Grain of a row: a series without its model."""


def show(view: View) -> None:
    """Draw the page."""
    counts = data.rows(view.snapshot, "counts", view.selection)
    if counts.empty:
        frame.head("Overview", view, [_state(view)], 0, baseline=True)
        empty.no_rows(view.selection, "results")
        return
    baseline = view.selection.baseline
    means = data.geomeans(view.snapshot, view.selection)
    said = [_state(view), *answers.geomean_sentences(means, baseline)]
    frame.head("Overview", view, said, int(counts["results_n"].sum()), baseline=True, more="in the tables below")
    _chart(means, baseline)
    cells = _cells(with_series(means.merge(counts, on=KEYS, how="left")), view)
    for keys, part in sections(cells, SECTION):
        st.subheader(answers.section_title(keys), anchor=False)
        tables.show(
            part,
            _columns(view),
            key="overview-" + "-".join(keys),
            alt=f"Results by suite and backend, {keys[0]} on {keys[1]}",
            file_name=view.file_name("overview"),
            whole=True,
        )
    attention.show(view)


def _state(view: View) -> str:
    """Say whether the run is complete and what happened to its experiments."""
    run = view.run
    kind = (
        ("planned experiment", None)
        if run["plan_known"]
        else ("experiment of a file without a plan", "experiments of a file without a plan")
    )
    parts = [f"{int(run['ran_n']):,} of {count(int(run['planned_n']), *kind)} ran"]
    for name, word in (
        ("failed_n", "failed"),
        ("verify_only_n", "verified only"),
        ("never_steady_n", "never steady"),
        ("skipped_n", "skipped"),
        ("not_run_n", "not run"),
    ):
        if run.get(name):
            parts.append(f"{int(run[name]):,} {word}")
    complete = "complete" if run["complete"] else "not complete"
    return f"Run {escape(view.run_name)} of {when(view.started)} is {complete}: {', '.join(parts)}"


def _chart(means: pd.DataFrame, baseline: str) -> None:
    """Draw the geometric means, one row per suite, test and accelerator."""
    shown = with_series(answers.compared(means, baseline))
    shown = shown[shown["geomean"].notna()]
    if shown.empty:
        return
    places = shown["test"] + " · " + shown["accelerator"] + " · " + shown["suite"]
    points = pd.DataFrame(
        {
            "model": places,
            "variant": shown["series"],
            "backend": shown["backend"],
            "value": shown["geomean"],
            "low": shown["geomean_low"],
            "high": shown["geomean_high"],
            "certain": shown["geomean_low"].notna(),
            "label": [f"{ratio(r.geomean)} ({interval(r.geomean_low, r.geomean_high)})" for r in each(shown)],
            "n": [count(int(n), "model") for n in shown["n"]],
        }
    )
    st.subheader("Geometric mean of speedups", anchor=False)
    st.altair_chart(
        ratios.ratio_dots(points, sorted(set(places)), baseline, first="Suite"),
        key="geomeans",
        alt=f"Geometric mean of speedups over {baseline} by suite and test",
    )


def _cells(table: pd.DataFrame, view: View) -> pd.DataFrame:
    """Add the texts that the table shows."""
    every = list(each(table))
    return table.assign(
        interval=[DASH if _is_baseline(row, view) else interval(row.geomean_low, row.geomean_high) for row in every],
        ran=[share(int(row.ran_n), int(row.planned_n)) for row in every],
        verified=[
            share(int(row.verified_n), int(row.answered_n)) if row.verify_asked else "not verified" for row in every
        ],
        fallback_models_n=pd.array([_fallback_models(row) for row in every], dtype="Int64"),
        note=[_note(row, view) for row in every],
    )


def _fallback_models(row: Any) -> int | None:
    """Return None where fallback ops cannot be known: the backend has none, or nothing counted them."""
    known = row.backend.startswith("openxla") and not missing(row.fallback_known_n) and row.fallback_known_n
    return int(row.fallback_models_n) if known else None


def _is_baseline(row: Any, view: View) -> bool:
    return bool(row.variant == view.selection.baseline and row.baseline_run_id == row.run_id)


def _note(row: Any, view: View) -> str:
    """Return why the row has no geomean, and what happened to the models that gave no number."""
    parts = []
    if _is_baseline(row, view):
        parts.append("the baseline")
    elif missing(row.geomean):
        parts.append("no speedup: " + (row.main_reason if isinstance(row.main_reason, str) else "no common model"))
    for name, word in (
        ("failed_n", "failed"),
        ("verify_only_n", "verified only"),
        ("never_steady_n", "never steady"),
        ("skipped_n", "skipped"),
        ("not_run_n", "not run"),
    ):
        number = getattr(row, name)
        if not missing(number) and number:
            parts.append(f"{int(number)} {word}")
    if len(row.not_comparable):
        parts.append(f"{len(row.not_comparable)} not comparable")
    return ", ".join(parts) or DASH


def _columns(view: View) -> dict[str, Column]:
    return {
        "suite": Column("Suite", pinned=True),
        "series": Column("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "ran": Column("Ran", help="Experiments that gave steady samples, of those planned for this row."),
        "verified": Column("Verified", help="Results whose outputs agreed with the reference, of those that ran."),
        "geomean": measured("geomean", "Speedup", f"Baseline: {view.baseline_text}; above 1 is faster."),
        "interval": Column("95 %", help="Interval of the geometric mean: Student's t on the logs of the speedups."),
        "n": Column("Models", "number", help=metric("n").definition),
        "first_iteration_s": measured("first_iteration_s", "First iter.", "Median over models."),
        "first_iteration_n": Column("n", "number", help="Models behind the median of the first iteration."),
        "fallback_models_n": Column(
            "With fallback",
            "number",
            help="Models that called an op that XLA did not lower; a dash for backends without XLA.",
        ),
        "note": Column("Without a number", help="How many experiments of the row gave no number, and why."),
    }
