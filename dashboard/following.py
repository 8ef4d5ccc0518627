"""The jobs that this session launched, at the top of every page: how far they are, and what came of them.

Once one is over, the page shows what it has measured, without anybody asking for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, jobs, launching, snapshot
from dashboard.progress import progress
from dashboard.settings import FOLLOW_EVERY_S
from dashboard.words import escape, shortened
from runner.jobs.queue import is_over

if TYPE_CHECKING:
    from store.state.jobs import Job

_SHOWN = 4
_SEEN = "_jobs_seen_over"


def show() -> None:
    """Say what came of the last action, then draw the jobs; looked at every second or two while one goes on."""
    launching.show_last_action()
    wanted = launching.mine()
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
            launching.to_job(job.job_id)
            st.rerun(scope="app")
        if is_over(job) and st.button(
            "", key=f"away-{job.job_id}", type="tertiary", icon=":material/close:", help="Put away"
        ):
            launching.put_away(job.job_id)
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
