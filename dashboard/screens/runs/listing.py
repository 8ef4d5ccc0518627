"""The list of runs; a selected one is shown on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, filters, tables
from dashboard.tables import Column
from store import query
from store.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

KEY = "runs-list"


_RARE = ("verify_only_n", "never_steady_n", "disturbed_n")
"""Left out where no run has any."""


def show(view: View, runs: pd.DataFrame) -> None:
    """Draw the list."""
    listed = runs.copy()
    listed["complete"] = ["yes" if done else "no" for done in runs["complete"]]
    listed["origin"] = [
        source if known else f"{source}, no plan recorded"
        for source, known in zip(runs["source"], runs["plan_known"], strict=True)
    ]
    st.caption("Select a run to show it on every page.")
    tables.show(
        listed,
        {name: column for name, column in _columns().items() if name not in _RARE or listed[name].any()},
        key=KEY,
        alt="Runs of the store",
        file_name="xlabench-runs",
        sql=query.named("runs"),
        on_select=lambda: _choose(view.snapshot, list(runs["run_id"])),
    )


def _choose(shown: str, run_ids: list[str]) -> None:
    """Put the run of the selected row into the filter of the sidebar, and thereby into the URL."""
    picked = st.session_state[KEY]["selection"]["rows"]
    if picked:
        filters.choose_run(run_ids[picked[0]], data.choices(shown))


def _columns() -> dict[str, Column]:
    numbers = {
        "planned_n": "Planned",
        "ran_n": "Ran",
        "failed_n": "Failed",
        "verify_only_n": "Verified only",
        "never_steady_n": "Never steady",
        "disturbed_n": "Disturbed",
        "skipped_n": "Skipped",
        "not_run_n": "Not run",
    }
    return {
        "run_label": Column("Run", pinned=True),
        "run_started": Column("Started (UTC)", "time"),
        **{name: Column(word, "number", help=metric(name).definition) for name, word in numbers.items()},
        "complete": Column("Complete", help="Every planned experiment has a result or a reason to be skipped."),
        "torch": Column("torch"),
        "torch_xla": Column("torch_xla"),
        "host": Column("Host"),
        "accelerator_model": Column("Device"),
        "origin": Column(
            "Origin", help="Who measured: xlabench, or another tool whose records were read.", hidden=True
        ),
        "last_finished": Column("Finished (UTC)", "time", hidden=True),
        "ingested_at": Column("Ingested (UTC)", "time", hidden=True),
        "run_id": Column("Run id", hidden=True),
        "path": Column("Folder", hidden=True),
        "command": Column("Command", hidden=True),
    }
