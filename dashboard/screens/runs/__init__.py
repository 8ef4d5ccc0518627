"""Runs & jobs: what each run planned and got, down to its raw records; the queue of jobs; the form for a new run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, empty, frame
from dashboard.rows import with_series
from dashboard.screens import choosing, reported
from dashboard.screens.jobs import form, queue
from dashboard.screens.runs import differs, doubts, experiments, listing, matrix, records
from dashboard.words import count, escape

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dashboard.view import View

SECTIONS: dict[str, Callable[[View, pd.DataFrame], None]] = {
    "Experiments": experiments.show,
    "Measurement warnings": doubts.show,
    "What differs": differs.show,
    "Records": records.show,
}
"""Word of the URL → what draws it from the results of the run."""


TITLE = "Runs & jobs"
RUNS, JOBS, NEW = PARTS = ("Runs", "Jobs", "New run")


def show(view: View) -> None:
    """Draw the page."""
    runs = data.runs(view.snapshot)
    rows = with_series(data.experiments(view.snapshot, view.selection))
    going_on = queue.sentence()
    frame.head(TITLE, view, [_answer(runs, view), *([going_on] if going_on else [])], len(rows), baseline=False)
    part = choosing.segments("Show", PARTS, "show")
    if part == RUNS:
        _runs(view, runs, rows)
    else:
        _jobs(part, view.snapshot)


def show_empty() -> None:
    """Draw the page over an empty store: jobs need no results, and a first run may be asked for here."""
    reported.instead_of_runs(TITLE)
    st.divider()
    _jobs(choosing.segments("Show", (JOBS, NEW), "show"), None)


def _jobs(part: str, shown: str | None) -> None:
    if part == NEW:
        form.show(shown)
    else:
        queue.show()


def _runs(view: View, runs: pd.DataFrame, rows: pd.DataFrame) -> None:
    listing.show(view, runs)
    st.subheader(f"Run {escape(view.run_name)}", anchor=False)
    if rows.empty:
        empty.no_rows(view.selection, "results")
    else:
        matrix.show(view, rows)
        choosing.notice_unknown("Look at", list(SECTIONS), "section")
        section = st.segmented_control(
            "Look at", list(SECTIONS), default="Experiments", required=True, key="section", bind="query-params"
        )
        SECTIONS[section or "Experiments"](view, rows)
    reported.show(view.snapshot)


def _answer(runs: pd.DataFrame, view: View) -> str:
    unfinished = int((~runs["complete"].astype(bool)).sum())
    text = f"{count(len(runs), 'run')} in the store"
    every = "complete" if len(runs) == 1 else "all complete"
    text += f", {unfinished:,} of them not complete" if unfinished else f", {every}"
    run = view.run
    return (
        f"{text}. **{escape(view.run_name)}** ran {int(run['ran_n']):,} of {count(int(run['planned_n']), 'experiment')}"
    )
