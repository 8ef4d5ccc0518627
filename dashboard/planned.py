"""What a request would measure and for how long, before anybody starts it; and the plan of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import access, data, settings, snapshot, tables
from dashboard.rows import each
from dashboard.tables import TableColumn, naming
from dashboard.words import count, escape, seconds
from runner.jobs import preview
from runner.jobs.request import RunRequest, decode, encode
from store import query
from store.errors import XlabenchError
from store.run_file import RUN_FILE, read_run_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.jobs.preview import Preview
    from store.record import PlanEntry, RunFile


_ASKED_AGAIN_S = 300.0
_REASONS = 8
_TOML = "xlabench.toml"


def of(request: RunRequest) -> Preview | str:
    """Return the plan of a request, or in one sentence why there is none: nobody's is made who may not launch it."""
    launching = access.may("launch")
    if not launching.allowed:
        return launching.reason
    file = settings.home() / _TOML
    changed = file.stat().st_mtime_ns if file.is_file() else 0
    return _planned(encode(request), str(settings.home()), changed)


def each_experiment(found: Preview) -> None:
    """Draw every experiment with why it is skipped, opened by a click."""
    with st.expander("Each experiment", key="new-plan", on_change="rerun", icon=":material/list:") as part:
        if part.open:
            _table(found)


def brief(shown: str | None, found: Preview) -> None:
    """Draw numbers, estimate and reasons."""
    runnable, skipped = len(found.runnable), len(found.skipped)
    text = f"**{count(runnable, 'experiment')}** to measure, in {count(found.processes, 'process', 'processes')} each"
    st.markdown(text + (f"; {skipped:,} skipped" if skipped else ""))
    st.markdown(estimate(shown, found.runnable, found.processes).sentence())
    reasons = Counter(entry.skip_reason or "" for entry in found.skipped)
    notes = [f"{number:,} skipped: {escape(reason)}" for reason, number in reasons.most_common()]
    notes += [escape(text) for text in (*found.missing_suites.values(), *found.lacking)]
    if notes:
        st.caption("\n".join(f"- {note}" for note in notes[:_REASONS]))


@st.cache_data(max_entries=50, ttl=_ASKED_AGAIN_S, show_spinner="Planning…")
def _planned(text: str, home: str, changed: int) -> Preview | str:
    """Plan once per request and settings file; interpreters that it names are asked what they offer."""
    del home, changed
    try:
        request = decode(text)
        assert isinstance(request, RunRequest)  # noqa: S101 - the callers'
        return preview.preview(request, settings.home())
    except (XlabenchError, ValueError) as error:
        return str(error)


def _table(found: Preview) -> None:
    every = [*found.runnable, *found.skipped]
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
    tables.show(frame, columns, key="new-experiments", alt="Experiments of the plan", file_name="xlabench-plan")


@dataclass(frozen=True)
class Estimate:
    """Seconds of those experiments that the store knows, the records they rest on, and how many it does not know."""

    seconds: float
    records_n: int
    known_n: int
    unknown_n: int

    def sentence(self) -> str:
        """Return it in words; of a part that is not known nothing is guessed."""
        if not self.known_n:
            return "How long it takes is not known: the store has no history of these models."
        duration = seconds(self.seconds) if self.seconds < 100 else f"{self.seconds / 60:.0f} min"  # noqa: PLR2004 - as a clock
        text = f"About **{duration}**, from {count(self.records_n, 'record')} of the same models, tests and backends"
        if self.unknown_n:
            text += f"; {count(self.unknown_n, 'more experiment')} without history not counted in"
        return text


def estimate(shown: str | None, entries: Sequence[PlanEntry], processes: int) -> Estimate:
    """Add up the median seconds per record of the same suite, model, test, accelerator and backend.

    Args:
        shown: the snapshot; None: there is none.
        entries: what is to be measured.
        processes: records of each.
    """
    known = _known(shown) if shown and entries else {}
    total, records, found = 0.0, {}, 0
    for entry in entries:
        config = entry.config
        kind = (config.suite_name, config.model_name, config.test, config.accelerator, entry.variant)
        if kind in known:
            median_s, records[kind] = known[kind]
            total += median_s * processes
            found += 1
    return Estimate(total, sum(records.values()), found, len(entries) - found)


def _known(shown: str) -> dict[tuple[str, ...], tuple[float, int]]:
    frame: pd.DataFrame = query.select(snapshot.connection(shown), data.sql("seconds_per_record"))
    return {
        (row.suite, row.model, row.test, row.accelerator, row.variant): (float(row.seconds), int(row.records_n))
        for row in each(frame)
    }


def run_file(shown: str, run_id: str) -> RunFile | str:
    """Return a run's file, or in one sentence why it cannot be had: then it cannot be measured again as it was."""
    path = _run_file_path(shown, run_id)
    try:
        return _read_run_file(str(path.parent), path.stat().st_mtime_ns) if path else _no_run_file(run_id)
    except OSError:
        return _no_run_file(run_id)
    except XlabenchError as error:
        return str(error)


def _no_run_file(run_id: str) -> str:
    return f"Run {run_id} has no plan: there is no {RUN_FILE} of it. Ingest the run's own folder."


@st.cache_data(max_entries=50, show_spinner=False)
def _run_file_path(shown: str, run_id: str) -> Path | None:
    found = query.select(snapshot.connection(shown), data.sql("run_file"), {"run": run_id})
    return None if found.empty else Path(str(found["path"].iloc[0]))


@st.cache_resource(max_entries=20, show_spinner=False)
def _read_run_file(path: str, modified_ns: int) -> RunFile:
    """Read a file once; nobody changes what this returns."""
    del modified_ns
    return read_run_file(path)
