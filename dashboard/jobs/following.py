"""Updates while a page is open: jobs of this session, their progress, and new results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from dashboard import access, data, jobs, settings
from dashboard.data import snapshot
from dashboard.data.frames import iter_rows
from dashboard.formatting import ago, count, error_text, escape, listed, missing, shortened, when
from dashboard.settings import FOLLOW_EVERY_S, WATCH_EVERY_S
from dashboard.ui import updating
from runner.jobs import folder
from runner.jobs.queue import is_over
from store.errors import XlabenchError
from store.run_file import RESULTS, RUN_FILE, read_run_file
from store.state.jobs import Job

_SHOWN = 4
_SEEN = "_jobs_seen_over"


def show() -> None:
    """Show the outcome of the last action, then draw the jobs; they are updated while one is active."""
    jobs.show_last_action()
    job_ids = jobs.session_jobs()
    if not job_ids:
        return
    own_jobs = _listed_jobs(job_ids)
    over_ids: set[int] = st.session_state.setdefault(_SEEN, set())
    over_ids.update(job.job_id for job in own_jobs if is_over(job))
    active = any(not is_over(job) for job in own_jobs)
    updating.show(_strip, FOLLOW_EVERY_S if active else None, tuple(job_ids))


def _strip(job_ids: tuple[int, ...]) -> None:
    own_jobs = _listed_jobs(job_ids)
    over_ids: set[int] = st.session_state.setdefault(_SEEN, set())
    if any(is_over(job) and job.job_id not in over_ids for job in own_jobs):
        snapshot.advance()
        st.rerun(scope="app")
    with st.container(border=True, gap=None, key="my-jobs"):
        for job in own_jobs[:_SHOWN]:
            _line(job)


def _line(job: Job) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"my-job-{job.job_id}"):
        st.markdown(
            f"**Job {job.job_id}** {escape(shortened(job.label))}: {jobs.badge(job)}{_far(job)}", width="stretch"
        )
        if st.button("Open the job", key=f"to-job-{job.job_id}", type="tertiary", icon=":material/arrow_forward:"):
            jobs.to_job(job.job_id)
            st.rerun(scope="app")
        if is_over(job) and st.button(
            "", key=f"dismiss-{job.job_id}", type="tertiary", icon=":material/close:", help="Dismiss"
        ):
            jobs.dismiss(job.job_id)
            st.rerun(scope="app")


def _far(job: Job) -> str:
    if is_over(job):
        explanation = jobs.explained(job) if job.state != "done" or job.message else ""
        return f", {error_text(explanation)}" if explanation else ""
    came = progress(job)
    if came is not None:
        return f", {came.done:,} of {came.planned:,} records"
    explanation = jobs.explained(job)
    return f", {error_text(explanation)}" if explanation else ""


def _listed_jobs(job_ids: list[int] | tuple[int, ...]) -> list[Job]:
    by_id = {job.job_id: job for job in access.listed()}
    return [by_id[job_id] for job_id in job_ids if job_id in by_id]


LOG_BYTES = 16_000
_CHUNK = 1 << 20


@dataclass(frozen=True)
class RunProgress:
    """Number of written records and of planned ones: one per process of each runnable experiment.

    There may be more records if a run adds processes until a verdict.
    """

    done: int
    planned: int

    @property
    def share(self) -> float:
        """Return the progress as a share of 1."""
        return min(1.0, self.done / self.planned) if self.planned else 0.0


def progress(job: Job) -> RunProgress | None:
    """Return the progress of a job; None before its run begins, or if its folder is not among the home's runs."""
    run = _run_folder(job)
    if run is None:
        return None
    try:
        planned = _planned(str(run), (run / RUN_FILE).stat().st_mtime_ns)
    except (OSError, XlabenchError):
        return None
    return RunProgress(_lines(run / RESULTS), planned)


def log_tail(job: Job) -> str:
    """Return the end of the newest attempt's output."""
    return folder.of(settings.home(), job.job_id, job.attempts).log_tail(LOG_BYTES) if job.attempts > 0 else ""


def _run_folder(job: Job) -> Path | None:
    """Return the job's run folder; only folders of the home's runs count, as anybody may have written the row."""
    if not job.folder:
        return None
    path = Path(job.folder).resolve()
    return path if path.is_relative_to((settings.home() / "runs").resolve()) else None


@st.cache_data(max_entries=50, show_spinner=False)
def _planned(run: str, modified_ns: int) -> int:
    del modified_ns  # part of the cache key: a rewritten file is read again
    file = read_run_file(run)
    return sum(entry.runnable for entry in file.plan) * int(file.settings.get("processes", 1))


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return 0


def announce_results() -> None:
    """Look for a newer snapshot while the page is open, name its new runs, and offer to show it."""
    updating.show(_announcement, WATCH_EVERY_S)


def _announcement() -> None:
    newest = snapshot.newer()
    if newest is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="new-results"):
        st.markdown(f":material/fiber_new: {_news(str(newest))}", width="stretch")
        if st.button("Show", type="primary", key="show-new-results"):
            snapshot.advance()
            st.rerun(scope="app")


def last_ingest(runs: pd.DataFrame) -> None:
    """Draw the time of the last ingest below the filters."""
    moment = runs["ingested_at"].max()
    with st.sidebar:
        st.caption(f"Last ingest {when(moment)} ({ago(moment)})" if not missing(moment) else "Last ingest unknown")


def _news(newest: str) -> str:
    """Return a sentence on the runs that the newest snapshot has and the shown one lacks."""
    current = snapshot.held()
    before = set(data.runs(str(current))["run_id"]) if current else set()
    after = data.runs(newest)
    fresh = [f"**{escape(row.run_label or row.run_id[:8])}**" for row in iter_rows(after) if row.run_id not in before]
    if not fresh:
        return "New results in runs that are already listed."
    return f"New results: {count(len(fresh), 'run')} {listed(fresh, 3)}."
