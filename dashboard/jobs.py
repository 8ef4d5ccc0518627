"""A job in words, and what pages do with jobs: submit, cancel, retry, and say what came of it."""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import streamlit as st

from dashboard import access, links, settings
from dashboard.words import count, error_text, escape, listed, when
from runner.jobs import recurring, states
from runner.jobs.queue import is_over
from runner.jobs.request import ConfirmRequest, JobRequest, RunRequest, decode, encode
from store.errors import XlabenchError
from store.state import schedules
from store.state.database import opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.jobs.request import Request
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
    "failed": "Read the end of its log; correct the cause, then retry it.",
    "lost": "Its process or its host died. Retry goes on where it stopped.",
    "cancelled": "What it had measured is kept. Retry goes on where it stopped.",
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
    """Return why a job is as it is: the row's own words, and that nobody follows it; for a table."""
    said = job.message or ("an earlier attempt was lost" if job.state == "queued" and job.attempts else "")
    return "; ".join(filter(None, (said, states.left_alone(settings.home(), job))))


def what_to_do(job: Job) -> str:
    """Return the next step after a job that is not done; empty for others."""
    return _WHAT_TO_DO.get(job.state, "")


def request(job: Job) -> Request | None:
    """Return what a job asks for; None where its row holds no request."""
    try:
        return decode(job.request)
    except (msgspec.DecodeError, RecursionError):
        return None


def request_summary(found: Request | None) -> str:
    """Return a request in a few words."""
    if found is None:
        return "not readable"
    if isinstance(found, ConfirmRequest):
        cells = (
            count(len(found.experiments), f"{found.cells} cell") if found.experiments else f"all {found.cells} cells"
        )
        return f"confirm {cells}: {_short(found.old)} → {_short(found.new)}"
    return _of_run(found) + (f", on {found.accelerator_model}" if found.accelerator_model else "")


def _short(side: str) -> str:
    """Return a side's word; of the id of a run its begin."""
    return side[:8] if _RUN_ID.fullmatch(side) else side


def moment(seconds: float | None) -> datetime | None:
    """Return Unix seconds as a UTC time; a row may hold any number."""
    if seconds is None or not 0 <= seconds <= 1e11:  # noqa: PLR2004 - the year 5138
        return None
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _of_run(found: RunRequest) -> str:
    if found.plan is not None:
        every = [each.config for each in found.plan.experiments]
        models = list(dict.fromkeys(str(each.get("model_name")) for each in every))
        return f"{count(len(every), 'experiment')} of {listed(models, _NAMED)}"
    chosen = found.selection
    if chosen.ops_of:
        return f"the operators of {chosen.ops_of}, and the model"
    if chosen.only:
        return listed(list(chosen.only), _NAMED)
    return listed(list(chosen.suite_name), _NAMED) or ("smoke plan" if chosen.smoke else "every suite")


_MINE = "_my_jobs"
_SAID = "_launch_said"
_KEYS = "_launch_keys"


def submit(request: Request, label: str, why: str, key: str) -> None:
    """Queue a request; what came of it is said at the top of the page. For a callback.

    Args:
        request: what is asked for.
        label: name of the run.
        why: for whoever reads the queue.
        key: made when the button was drawn, so that a second click on it, however fast, is the same job.
    """
    job_request = JobRequest(request=request, label=label, why=why, key=key)
    _do("Queued", lambda: access.job_queue().submit(job_request))


def schedule(request: Request, label: str, cron: str, late_after_h: float) -> None:
    """Have a request measured whenever an expression says; a second click finds it made. For a callback."""

    def make() -> str:
        made, wanted = scheduled(label), (encode(request), cron, 3600 * late_after_h)
        if made is None or (made.request, made.cron, made.late_after_s) != wanted:
            job_request = JobRequest(request=request, label=label)
            made = recurring.add(access.job_queue(), cron, job_request, 3600 * late_after_h)
        return _next_time(made)

    _say(make)


def reschedule(name: str, cron: str, late_after_h: float) -> None:
    """Give a recurring run another time; what it has already, it keeps. For a callback."""

    def change() -> str:
        made = scheduled(name)
        if made is None or (made.cron, made.late_after_s) != (cron, 3600 * late_after_h):
            made = recurring.change(access.job_queue(), name, cron, 3600 * late_after_h)
        return _next_time(made)

    _say(change)


def unschedule(name: str) -> None:
    """End a recurring run. For a callback."""

    def end() -> str:
        if scheduled(name) is not None:
            recurring.remove(access.job_queue(), name)
        return f"Removed the recurring run {name}; its results stay"

    _say(end)


def scheduled(name: str) -> Schedule | None:
    """Return the recurring run of a name, if there is one."""
    state = access.job_queue().state
    if not state.is_file():
        return None
    with opened(state) as con:
        return next((each for each in schedules.active(con) if each.name == name), None)


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
    """Draw a button that queues a request, or says why it cannot.

    Args:
        label: of the button.
        request: what is asked for.
        name: label of the job.
        key: of the button.
        why: for whoever reads the queue.
        help: what a reader who may is told of it.
        icon: Streamlit's name of one.
        main: draw it as what the page is for.
    """
    allowed = access.may_launch()
    going_on, newest = _alike(request)
    st.button(
        label if going_on is None else f"{label}: job {going_on.job_id} is {going_on.state}",
        key=key,
        icon=icon,
        type="primary" if main else "secondary",
        disabled=not allowed.allowed or going_on is not None,
        help=help if allowed.allowed else error_text(allowed.reason),
        on_click=submit,
        args=(request, name, why, _key(request, newest)),
    )


def mine() -> list[int]:
    """Return the jobs that this session launched and has not put away, the newest first."""
    return list(reversed(st.session_state.get(_MINE, ())))


def put_away(job_id: int) -> None:
    """Say no more of a job."""
    st.session_state[_MINE] = [each for each in st.session_state.get(_MINE, ()) if each != job_id]


def to_job(job_id: int) -> None:
    """Open a job on its page. For a callback, or before the page is drawn again."""
    links.jump("runs", show="Jobs", job=str(job_id))


def acted() -> bool:
    """Say whether something was done of which the page has not told yet: for a part that is drawn apart from it."""
    return bool(st.session_state.get(_SAID))


def show_last_action() -> None:
    """Say what came of the last action, once."""
    for done, text in st.session_state.pop(_SAID, ()):
        st.toast(escape(text), icon=":material/task_alt:" if done else ":material/block:")
        if not done:
            st.error(escape(text), icon=":material/block:")


def _do(word: str, act: Callable[[], Job]) -> None:
    def done() -> str:
        job = act()
        others = (each for each in st.session_state.get(_MINE, ()) if each != job.job_id)
        st.session_state[_MINE] = [*others, job.job_id]
        return f"{word}: job {job.job_id}, {job.label}"

    _say(done)


def _say(act: Callable[[], str]) -> None:
    """Do something, and keep for the page what came of it."""
    try:
        said = (True, act())
    except XlabenchError as error:
        said = (False, str(error))
    st.session_state[_SAID] = [*st.session_state.get(_SAID, ()), said]


def _next_time(made: Schedule) -> str:
    queue = access.job_queue()
    return f"Recurring run {made.name}: next at {when(moment(recurring.due_after(made.cron, queue.clock())))}"


def _alike(request: Request) -> tuple[Job | None, int]:
    """Return a job that does the same and is not over, and the newest one that is: what is over may be asked anew."""
    text = encode(request)
    alike = [job for job in access.listed() if job.request == text]
    going_on = next((job for job in alike if not is_over(job)), None)
    return going_on, max((job.job_id for job in alike if is_over(job)), default=0)


def _key(request: Request, newest: int) -> str:
    """Return the key of a button: the same for this session until another job of the request is over."""
    keys: dict[str, tuple[int, str]] = st.session_state.setdefault(_KEYS, {})
    name = hashlib.sha256(encode(request).encode()).hexdigest()
    if keys.get(name, (-1, ""))[0] != newest:
        keys[name] = newest, uuid.uuid4().hex
    return keys[name][1]
