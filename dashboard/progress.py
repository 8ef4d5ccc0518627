"""How far a job has come: records of its run against those planned, and the end of its log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import settings
from runner.jobs import folder
from store.errors import StoreError
from store.run_file import RESULTS, RUN_FILE, read_run_file

if TYPE_CHECKING:
    from store.state.jobs import Job

LOG_BYTES = 16_000
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Progress:
    """Records written, and how many the plan gives: one of each process of each runnable experiment.

    More may come where a run asks for more processes until a verdict.
    """

    done: int
    planned: int

    @property
    def share(self) -> float:
        """Return it as a share of 1."""
        return min(1.0, self.done / self.planned) if self.planned else 0.0


def progress(job: Job) -> Progress | None:
    """Return how far a job has come; None before its run has begun, or where its folder is none of the home's runs."""
    run = _run_folder(job)
    if run is None:
        return None
    try:
        planned = _planned(str(run), (run / RUN_FILE).stat().st_mtime_ns)
    except (OSError, StoreError):
        return None
    return Progress(_lines(run / RESULTS), planned)


def log_tail(job: Job, most_bytes: int = LOG_BYTES) -> str:
    """Return the end of what the newest attempt printed."""
    return folder.of(settings.home(), job.job_id, job.attempts).log_tail(most_bytes) if job.attempts > 0 else ""


def _run_folder(job: Job) -> Path | None:
    """Return the job's run folder; its row may have been written by anybody, so only folders of the home's runs."""
    if not job.folder:
        return None
    found = Path(job.folder).resolve()
    return found if found.is_relative_to((settings.home() / "runs").resolve()) else None


@st.cache_data(max_entries=50, show_spinner=False)
def _planned(run: str, modified_ns: int) -> int:
    del modified_ns  # a file that was written anew is read anew
    file = read_run_file(run)
    return sum(entry.runnable for entry in file.plan) * int(file.settings.get("processes", 1))


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return 0
