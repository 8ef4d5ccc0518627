"""Jobs in words, and the actions of pages on them: submit, schedule, cancel, retry, with their outcomes.

The modules of this package draw the queue (`queue`), one job (`one_job`), those of this session (`following`),
recurring runs (`recurring`), and requests with their plans before they are queued (`form`, `rerun`, `planned`).
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import streamlit as st

from dashboard import access, settings
from dashboard.formatting import count, error_text, escape, listed, when
from dashboard.view import links
from runner.jobs import recurring as recurring_runs
from runner.jobs.queue import is_over, unfollowed_reason
from runner.jobs.request import ConfirmRequest, JobRequest, Request, RunRequest, decode, encode
from store.errors import XlabenchError
from store.state import schedules
from store.state.database import opened
from store.state.jobs import Job, State
from store.state.schedules import Schedule

_LOOKS: dict[State, tuple[str, str]] = {
    "queued": ("○", "gray"),
    "starting": ("◔", "blue"),
    "running": ("◑", "blue"),
    "done": ("✔", "green"),
    "failed": ("✖", "red"),
    "cancelled": ("−", "gray"),  # noqa: RUF001 - a minus is meant
    "lost": ("?", "orange"),
}
_WHAT_TO_DO: dict[State, str] = {
    "failed": "Read the end of its log, correct the cause, then retry it.",
    "lost": "Its process or its host died. Retry continues where it stopped.",
    "cancelled": "Its finished measurements are kept. Retry continues where it stopped.",
}
_NAMED = 3
_RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def word(job: Job) -> str:
    """Return the state as sign and word."""
    return f"{_LOOKS[job.state][0]} {job.state}"


def badge(job: Job) -> str:
    """Return the state as sign and word in its colour, as markdown."""
    return f":{_LOOKS[job.state][1]}[{word(job)}]"


def explained(job: Job) -> str:
    """Return the reason for the state of a job, and whether no worker follows it, as plain text."""
    message = job.message or ("an earlier attempt was lost" if job.state == "queued" and job.attempts else "")
    return "; ".join(filter(None, (message, unfollowed_reason(settings.home(), job))))


def next_step_for(job: Job) -> str:
    """Return the next step for a failed, lost or cancelled job; empty for others."""
    return _WHAT_TO_DO.get(job.state, "")


def request(job: Job) -> Request | None:
    """Return the request of a job; None if its row has no valid request."""
    try:
        return decode(job.request)
    except (msgspec.DecodeError, RecursionError):
        return None


def request_summary(job_request: Request | None) -> str:
    """Return a request in a few words."""
    if job_request is None:
        return "not readable"
    if isinstance(job_request, ConfirmRequest):
        cells = (
            count(len(job_request.experiments), f"{job_request.cells} cell")
            if job_request.experiments
            else f"all {job_request.cells} cells"
        )
        return f"confirm {cells}: {_short(job_request.old)} → {_short(job_request.new)}"
    return _of_run(job_request) + (f", on {job_request.accelerator_model}" if job_request.accelerator_model else "")


def _short(side: str) -> str:
    """Return the text of a side; the id of a run is shortened."""
    return side[:8] if _RUN_ID.fullmatch(side) else side


def moment(seconds: float | None) -> datetime | None:
    """Return Unix seconds as a UTC time; a row may hold any number."""
    if seconds is None or not 0 <= seconds <= 1e11:  # noqa: PLR2004 - the year 5138
        return None
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _of_run(run_request: RunRequest) -> str:
    if run_request.plan is not None:
        every = [experiment.config for experiment in run_request.plan.experiments]
        models = list(dict.fromkeys(str(config.get("model_name")) for config in every))
        return f"{count(len(every), 'experiment')} of {listed(models, _NAMED)}"
    selection = run_request.selection
    if selection.ops_of:
        return f"the operators of {selection.ops_of}, and the model"
    if selection.only:
        return listed(list(selection.only), _NAMED)
    return listed(list(selection.suite_name), _NAMED) or ("smoke plan" if selection.smoke else "every suite")


_SESSION_JOBS = "_my_jobs"
_OUTCOMES = "_launch_said"
_KEYS = "_launch_keys"


def submit(request: Request, label: str, why: str, key: str) -> None:
    """Queue a request; the outcome is shown at the top of the page. For a callback.

    The key is from the time when the button was drawn, so that a second click is the same job.
    """
    job_request = JobRequest(request=request, label=label, why=why, key=key)
    _do("Queued", lambda: access.job_queue().submit(job_request))


def schedule(request: Request, label: str, cron: str, late_after_h: float) -> None:
    """Schedule a request by a cron expression; a second click changes nothing. For a callback."""

    def make() -> str:
        entry, values = scheduled(label), (encode(request), cron, 3600 * late_after_h)
        if entry is None or (entry.request, entry.cron, entry.late_after_s) != values:
            job_request = JobRequest(request=request, label=label)
            entry = recurring_runs.add(access.job_queue(), cron, job_request, 3600 * late_after_h)
        return _next_time(entry)

    _store_outcome(make)


def reschedule(name: str, cron: str, late_after_h: float) -> None:
    """Change the times of a recurring run; equal times change nothing. For a callback."""

    def change() -> str:
        entry = scheduled(name)
        if entry is None or (entry.cron, entry.late_after_s) != (cron, 3600 * late_after_h):
            entry = recurring_runs.change(access.job_queue(), name, cron, 3600 * late_after_h)
        return _next_time(entry)

    _store_outcome(change)


def unschedule(name: str) -> None:
    """End a recurring run. For a callback."""

    def end() -> str:
        if scheduled(name) is not None:
            recurring_runs.remove(access.job_queue(), name)
        return f"Removed the recurring run {name}; its results are kept"

    _store_outcome(end)


def scheduled(name: str) -> Schedule | None:
    """Return the recurring run of a name; None if there is none."""
    state = access.job_queue().state
    if not state.is_file():
        return None
    with opened(state) as con:
        return next((entry for entry in schedules.active(con) if entry.name == name), None)


def cancel(job_id: int) -> None:
    """Cancel a job. For a callback."""
    _do("Cancelled", lambda: access.job_queue().cancel(job_id))


def retry(job_id: int) -> None:
    """Queue a job again. For a callback."""
    _do("Queued again", lambda: access.job_queue().retry(job_id))


def button(
    label: str,
    request: Request,
    name: str,
    *,
    key: str,
    why: str = "",
    help: str | None = None,  # noqa: A002 - as Streamlit calls it
    icon: str = ":material/replay:",
    main: bool = False,
) -> None:
    """Draw a button that queues a request under a name; a disabled one shows the reason.

    Readers of the queue see `why`, those who may launch the tooltip `help`.
    """
    allowed = access.may_launch()
    active, newest = _alike(request)
    st.button(
        label if active is None else f"{label}: job {active.job_id} is {active.state}",
        key=key,
        icon=icon,
        type="primary" if main else "secondary",
        disabled=not allowed.allowed or active is not None,
        help=help if allowed.allowed else error_text(allowed.reason),
        on_click=submit,
        args=(request, name, why, _key(request, newest)),
    )


def session_jobs() -> list[int]:
    """Return the jobs that this session launched and still shows, the newest first."""
    return list(reversed(st.session_state.get(_SESSION_JOBS, ())))


def dismiss(job_id: int) -> None:
    """Stop showing a job."""
    st.session_state[_SESSION_JOBS] = [
        other_id for other_id in st.session_state.get(_SESSION_JOBS, ()) if other_id != job_id
    ]


def to_job(job_id: int) -> None:
    """Open a job on its page. For a callback, or before the page is drawn again."""
    links.jump("runs", show="Jobs", job=str(job_id))


def acted() -> bool:
    """Tell whether an outcome waits to be shown; for parts that are drawn separately from the page."""
    return bool(st.session_state.get(_OUTCOMES))


def show_last_action() -> None:
    """Show the outcome of the last action once."""
    for succeeded, text in st.session_state.pop(_OUTCOMES, ()):
        st.toast(escape(text), icon=":material/task_alt:" if succeeded else ":material/block:")
        if not succeeded:
            st.error(escape(text), icon=":material/block:")


def _do(word: str, act: Callable[[], Job]) -> None:
    def launch() -> str:
        job = act()
        others = (other_id for other_id in st.session_state.get(_SESSION_JOBS, ()) if other_id != job.job_id)
        st.session_state[_SESSION_JOBS] = [*others, job.job_id]
        return f"{word}: job {job.job_id}, {job.label}"

    _store_outcome(launch)


def _store_outcome(act: Callable[[], str]) -> None:
    """Run an action, and store its outcome for the page."""
    try:
        outcome = (True, act())
    except XlabenchError as error:
        outcome = (False, str(error))
    st.session_state[_OUTCOMES] = [*st.session_state.get(_OUTCOMES, ()), outcome]


def _next_time(entry: Schedule) -> str:
    queue = access.job_queue()
    return f"Recurring run {entry.name}: next at {when(moment(recurring_runs.due_after(entry.cron, queue.clock())))}"


def _alike(request: Request) -> tuple[Job | None, int]:
    """Return an equal job that is not over, and the number of the newest one that is, which may be queued again."""
    text = encode(request)
    alike = [job for job in access.listed() if job.request == text]
    active = next((job for job in alike if not is_over(job)), None)
    return active, max((job.job_id for job in alike if is_over(job)), default=0)


def _key(request: Request, newest: int) -> str:
    """Return the key of a button: the same for this session until another job of the request is over."""
    keys: dict[str, tuple[int, str]] = st.session_state.setdefault(_KEYS, {})
    name = hashlib.sha256(encode(request).encode()).hexdigest()
    if keys.get(name, (-1, ""))[0] != newest:
        keys[name] = newest, uuid.uuid4().hex
    return keys[name][1]
