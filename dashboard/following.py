"""What goes on while one reads: the jobs that this session launched, how far each is, and results that are new."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, data, jobs, settings, snapshot
from dashboard.rows import each
from dashboard.settings import FOLLOW_EVERY_S, WATCH_EVERY_S
from dashboard.words import ago, count, escape, listed, missing, shortened, when
from runner.jobs import folder
from runner.jobs.queue import is_over
from store.errors import XlabenchError
from store.run_file import RESULTS, RUN_FILE, read_run_file

if TYPE_CHECKING:
    import pandas as pd

    from store.state.jobs import Job


_SHOWN = 4
_SEEN = "_jobs_seen_over"


def show() -> None:
    """Say what came of the last action, then draw the jobs; looked at every second or two while one goes on."""
    jobs.show_last_action()
    wanted = jobs.mine()
    if not wanted:
        return
    found = _found(wanted)
    seen: set[int] = st.session_state.setdefault(_SEEN, set())
    seen.update(job.job_id for job in found if is_over(job))
    active = any(not is_over(job) for job in found)
    st.fragment(_strip, run_every=FOLLOW_EVERY_S if active else None)(tuple(wanted))


def _strip(wanted: tuple[int, ...]) -> None:
    found = _found(wanted)
    seen: set[int] = st.session_state.setdefault(_SEEN, set())
    if any(is_over(job) and job.job_id not in seen for job in found):
        snapshot.advance()
        st.rerun(scope="app")
    with st.container(border=True, gap=None, key="my-jobs"):
        for job in found[:_SHOWN]:
            _line(job)


def _line(job: Job) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"my-job-{job.job_id}"):
        st.markdown(
            f"**Job {job.job_id}** {escape(shortened(job.label))}: {jobs.badge(job)}{_far(job)}", width="stretch"
        )
        if st.button("Look at it", key=f"to-job-{job.job_id}", type="tertiary", icon=":material/arrow_forward:"):
            jobs.to_job(job.job_id)
            st.rerun(scope="app")
        if is_over(job) and st.button(
            "", key=f"away-{job.job_id}", type="tertiary", icon=":material/close:", help="Put away"
        ):
            jobs.put_away(job.job_id)
            st.rerun(scope="app")


def _far(job: Job) -> str:
    if is_over(job):
        said = jobs.explained(job) if job.state != "done" or job.message else ""
        return f", {escape(said)}" if said else ""
    came = progress(job)
    if came is not None:
        return f", {came.done:,} of {came.planned:,} records"
    said = jobs.explained(job)
    return f", {escape(said)}" if said else ""


def _found(wanted: list[int] | tuple[int, ...]) -> list[Job]:
    known = {job.job_id: job for job in access.listed()}
    return [known[job_id] for job_id in wanted if job_id in known]


LOG_BYTES = 16_000
_CHUNK = 1 << 20


@dataclass(frozen=True)
class RunProgress:
    """Records written, and how many the plan gives: one of each process of each runnable experiment.

    More may come where a run asks for more processes until a verdict.
    """

    done: int
    planned: int

    @property
    def share(self) -> float:
        """Return it as a share of 1."""
        return min(1.0, self.done / self.planned) if self.planned else 0.0


def progress(job: Job) -> RunProgress | None:
    """Return how far a job has come; None before its run has begun, or where its folder is none of the home's runs."""
    run = _run_folder(job)
    if run is None:
        return None
    try:
        planned = _planned(str(run), (run / RUN_FILE).stat().st_mtime_ns)
    except (OSError, XlabenchError):
        return None
    return RunProgress(_lines(run / RESULTS), planned)


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


@st.fragment(run_every=WATCH_EVERY_S)
def announce_results() -> None:
    """Look for a newer snapshot, say what it brings, and offer to show it."""
    newest = snapshot.newer()
    if newest is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="new-results"):
        st.markdown(f":material/fiber_new: {_news(str(newest))}", width="stretch")
        if st.button("Show", type="primary", key="show-new-results"):
            snapshot.advance()
            st.rerun(scope="app")


def last_ingest(runs: pd.DataFrame) -> None:
    """Say under the filters when the store last took results in."""
    moment = runs["ingested_at"].max()
    with st.sidebar:
        st.caption(f"Last ingest {when(moment)} ({ago(moment)})" if not missing(moment) else "Last ingest unknown")


def _news(newest: str) -> str:
    """Name the runs that the newest snapshot has and the shown one has not."""
    held = snapshot.held()
    before = set(data.runs(str(held))["run_id"]) if held else set()
    after = data.runs(newest)
    fresh = [f"**{escape(row.run_label or row.run_id[:8])}**" for row in each(after) if row.run_id not in before]
    if not fresh:
        return "New results in runs that are already listed."
    return f"New results: {count(len(fresh), 'run')} {listed(fresh, 3)}."
