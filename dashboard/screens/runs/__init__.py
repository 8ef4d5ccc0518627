"""Runs: what each run planned and got; one run's experiments, doubts, differences to another run, and raw records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, empty, frame
from dashboard.rows import with_series
from dashboard.screens.runs import differs, doubts, experiments, listing, matrix, records, reported
from dashboard.words import count, escape

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dashboard.view import View

SECTIONS: dict[str, Callable[[View, pd.DataFrame], None]] = {
    "Experiments": experiments.show,
    "Doubts": doubts.show,
    "What differs": differs.show,
    "Records": records.show,
}
"""Word of the URL → what draws it from the results of the run."""


def show(view: View) -> None:
    """Draw the page."""
    runs = data.runs(view.snapshot)
    rows = with_series(data.results(view.snapshot, view.selection))
    frame.head("Runs", view, [_answer(runs, view)], len(rows), baseline=False)
    listing.show(view, runs)
    st.subheader(f"Run {view.run_name}", anchor=False)
    if rows.empty:
        empty.no_rows(view.selection, "results")
    else:
        matrix.show(rows)
        section = st.segmented_control(
            "Look at", list(SECTIONS), default="Experiments", required=True, key="section", bind="query-params"
        )
        SECTIONS[section or "Experiments"](view, rows)
    reported.show(view)


def _answer(runs: pd.DataFrame, view: View) -> str:
    unfinished = int((~runs["complete"].astype(bool)).sum())
    text = f"{count(len(runs), 'run')} in the store"
    text += f", {unfinished:,} of them not complete" if unfinished else ", all complete"
    run = view.run
    return (
        f"{text}. **{escape(view.run_name)}** ran {int(run['ran_n']):,} of {count(int(run['planned_n']), 'experiment')}"
    )
