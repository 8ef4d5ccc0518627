"""One job: how far it is, what it gave, what can be done with it, the end of its log, and who did what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import access, jobs, launching, links, tables
from dashboard.progress import log_tail, progress
from dashboard.screens.jobs import clone, outcome
from dashboard.tables import Column
from dashboard.words import count, escape, seconds, when
from runner.jobs.queue import is_over
from runner.jobs.request import ConfirmRequest, RunRequest
from store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.jobs.request import Request
    from store.state.jobs import Job

_LOG_PX = 340


def show(job: Job | None) -> None:
    """Draw a job; nothing for none."""
    if job is None:
        return
    request = jobs.request(job)
    with st.container(border=True, key="one-job"):
        st.markdown(f"##### {jobs.badge(job)} Job {job.job_id}: {escape(job.label)}")
        st.markdown(_facts(job, request))
        _state(job)
        outcome.show(job, request)
        _buttons(job, request)
        _log(job)
        _history(job)


def _facts(job: Job, request: Request | None) -> str:
    who = f"**{escape(job.who)}**" + ("" if job.verified else " (unverified)")
    lines = [f"Asked by {who} on {when(jobs.moment(job.submitted_at))}: {escape(jobs.request_summary(request))}"]
    if job.why:
        lines.append(f"Why: {escape(job.why)}")
    if isinstance(request, RunRequest) and request.environments:
        lines.append(f"In {escape(', '.join(request.environments))}")
    times = [f"begun {when(jobs.moment(job.started_at))}"] if job.started_at else []
    times += [f"ended {when(jobs.moment(job.finished_at))}"] if job.finished_at else []
    times += [f"took {seconds(job.spent_s)}"] if job.spent_s else []
    times += [count(job.attempts, "attempt")] if job.attempts > 1 else []
    times += [f"on {escape(job.host)}"] if job.host else []
    return "\n".join(f"- {line}" for line in [*lines, *([", ".join(times)] if times else [])])


def _state(job: Job) -> None:
    """Draw why it is as it is and what to do, or how far it is."""
    said, step = jobs.explained(job), jobs.what_to_do(job)
    if job.state in ("failed", "lost"):
        st.error(f"{escape(said)}  \n{step}", icon=":material/error:")
    elif access.job_queue().left_alone(job):
        st.warning(escape(said), icon=":material/power_off:")
    elif said or step:
        st.caption(f"{escape(said)} {step}")
    came = progress(job) if not is_over(job) else None
    if came is not None:
        st.progress(came.share, f"{came.done:,} of {came.planned:,} records")


def _buttons(job: Job, request: Request | None) -> None:
    allowed = access.may_launch()
    why_not = None if allowed.allowed else allowed.reason
    with st.container(horizontal=True, vertical_alignment="center", key="job-buttons"):
        if not is_over(job) or job.state == "lost":
            _act("Cancel", ":material/cancel:", job, disabled=why_not, key="cancel-job", act=launching.cancel)
        if job.state in ("failed", "cancelled", "lost"):
            _act("Retry", ":material/refresh:", job, disabled=why_not, key="retry-job", act=launching.retry)
        _clone(job, request)
    access.ask_name("job-name")
    if why_not and why_not != access.NAMELESS:
        st.caption(f":material/lock: {escape(why_not)}")


def _act(label: str, icon: str, job: Job, *, disabled: str | None, key: str, act: Callable[[int], None]) -> None:
    """Draw a button whose click counts also where it should not: the queue refuses it then, and keeps that."""
    off = disabled is not None
    st.button(label, icon=icon, key=key, disabled=off, help=disabled, on_click=act, args=(job.job_id,))


def _clone(job: Job, request: Request | None) -> None:
    """Offer the same again: in the form where it fits there, else as it is."""
    if request is None:
        return
    if isinstance(request, RunRequest) and clone.fits(request):
        if st.button(
            "Clone", icon=":material/content_copy:", key="clone-job", help="Opens it in the form, to change it."
        ):
            clone.fill(request, job.label, job.why)
            links.jump("runs", show="New run", job=None)
            st.rerun(scope="app")
    elif is_over(job):
        what = "Confirm again" if isinstance(request, ConfirmRequest) else "Measure the same again"
        launching.button(what, request, job.label, key="again-job", why=job.why)


def _log(job: Job) -> None:
    text = log_tail(job)
    if text:
        st.caption("The end of its log:")
        st.code(text, language=None, height=_LOG_PX, wrap_lines=True)
    elif job.attempts:
        st.caption("It has printed nothing so far.")


def _history(job: Job) -> None:
    try:
        found = access.job_queue().actions(job.job_id)
    except StoreError:
        return
    frame = pd.DataFrame(
        {
            "at": [jobs.moment(each.acted_at) for each in found],
            "action": [each.action for each in found],
            "who": [each.who if each.verified else f"{each.who} (unverified)" for each in found],
            "detail": [each.detail or None for each in found],
        }
    )
    columns = {
        "at": Column("When (UTC)", "time"),
        "action": Column("What"),
        "who": Column("Who"),
        "detail": Column("Why"),
    }
    with st.expander(f"Who did what ({len(found)})", key="job-actions", on_change="rerun") as part:
        if part.open:
            tables.show(
                frame, columns, key="job-acts", alt="Who did what with the job", file_name=f"xlabench-job-{job.job_id}"
            )
