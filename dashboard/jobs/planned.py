"""The plan of a request and the estimate of its duration, before it is queued; and the plan of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard import access, settings
from dashboard.data import TableSource, query_text, snapshot
from dashboard.formatting import count, escape, seconds
from dashboard.ui import tables
from dashboard.ui.tables import TableColumn, naming
from runner.jobs import rerun
from runner.jobs.request import RunRequest, decode, encode
from runner.jobs.rerun import Preview
from store import query
from store.errors import XlabenchError
from store.estimate import estimate
from store.record import PlanEntry, RunFile
from store.run_file import RUN_FILE, read_run_file

_ASKED_AGAIN_S = 300.0
_REASONS = 8
_TOML = "xlabench.toml"


def of(request: RunRequest) -> Preview | str:
    """Return the plan of a request, or a sentence why there is none; readers who may not launch get no plan."""
    launching = access.may("launch")
    if not launching.allowed:
        return launching.reason
    file = settings.home() / _TOML
    changed = file.stat().st_mtime_ns if file.is_file() else 0
    return _planned(encode(request), str(settings.home()), changed)


def show_experiments(plan: Preview) -> None:
    """Draw a box that a click opens, with every experiment and the reason if it is skipped."""
    with st.expander("Each experiment", key="new-plan", on_change="rerun", icon=":material/list:") as part:
        if part.open:
            _table(plan)


def brief(snapshot_path: str | None, plan: Preview) -> None:
    """Draw the number of experiments, the estimate, and the reasons for skips."""
    runnable, skipped = len(plan.runnable), len(plan.skipped)
    text = f"**{count(runnable, 'experiment')}** to measure, in {count(plan.processes, 'process', 'processes')} each"
    st.markdown(text + (f"; {skipped:,} skipped" if skipped else ""))
    st.markdown(expected_duration(snapshot_path, plan.runnable, plan.processes))
    reasons = Counter(entry.skip_reason or "" for entry in plan.skipped)
    notes = [f"{number:,} skipped: {escape(reason)}" for reason, number in reasons.most_common()]
    notes += [escape(text) for text in (*plan.missing_suites.values(), *plan.lacking)]
    if notes:
        st.caption("\n".join(f"- {note}" for note in notes[:_REASONS]))


@st.cache_data(max_entries=50, ttl=_ASKED_AGAIN_S, show_spinner="Planning…")
def _planned(text: str, home: str, changed: int) -> Preview | str:
    """Plan a request, once per request and settings file; planning runs the interpreters that the file names."""
    del home, changed
    try:
        request = decode(text)
        assert isinstance(request, RunRequest)  # noqa: S101 - callers pass no other request
        return rerun.preview(request, settings.home())
    except (XlabenchError, ValueError) as error:
        return str(error)


def _table(plan: Preview) -> None:
    every = [*plan.runnable, *plan.skipped]
    frame = pd.DataFrame(
        {
            "model": [entry.config.model_name for entry in every],
            "suite": [entry.config.suite_name for entry in every],
            "test": [entry.config.test for entry in every],
            "accelerator": [entry.config.accelerator for entry in every],
            "variant": [entry.variant for entry in every],
            "environment": [entry.environment for entry in every],
            "skip": [entry.skip_reason for entry in every],
        }
    )
    columns = {
        **naming("model", "suite", "test", "accelerator", "variant", "environment"),
        "skip": TableColumn("Why skipped"),
    }
    tables.show(frame, columns, TableSource("xlabench-plan"), key="new-experiments", alt="Experiments of the plan")


def expected_duration(snapshot_path: str | None, entries: Sequence[PlanEntry], processes: int) -> str:
    """Return the estimated duration as a sentence; experiments without records are only counted."""
    known = estimate(snapshot.connection(snapshot_path), entries, processes) if snapshot_path else None
    if known is None or not known.known_n:
        return "The duration is unknown: the store has no history of these models."
    text = seconds(known.seconds) if known.seconds < 100 else f"{known.seconds / 60:.0f} min"  # noqa: PLR2004 - as a clock
    sentence = f"About **{text}**, from {count(known.records_n, 'record')} of the same models, tests and backends"
    if known.unknown_n:
        sentence += f"; {count(known.unknown_n, 'more experiment')} without history not included"
    return sentence


def run_file(snapshot_path: str, run_id: str) -> RunFile | str:
    """Return the run.json of a run, or a sentence why it is missing; without it the run cannot be repeated."""
    path = _run_file_path(snapshot_path, run_id)
    try:
        return _read_run_file(str(path.parent), path.stat().st_mtime_ns) if path else _no_run_file(run_id)
    except OSError:
        return _no_run_file(run_id)
    except XlabenchError as error:
        return str(error)


def _no_run_file(run_id: str) -> str:
    return f"Run {run_id} has no plan: there is no {RUN_FILE} of it. Ingest the run's own folder."


@st.cache_data(max_entries=50, show_spinner=False)
def _run_file_path(snapshot_path: str, run_id: str) -> Path | None:
    rows = query.select(snapshot.connection(snapshot_path), query_text.sql("run_file"), {"run": run_id})
    return None if rows.empty else Path(str(rows["path"].iloc[0]))


@st.cache_resource(max_entries=20, show_spinner=False)
def _read_run_file(path: str, modified_ns: int) -> RunFile:
    """Read a file once; callers must not change the returned object."""
    del modified_ns
    return read_run_file(path)
