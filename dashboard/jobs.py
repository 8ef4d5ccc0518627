"""A job in words: its state as sign, word and colour, why it is as it is, and what to do."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from dashboard import settings
from dashboard.words import count, listed
from runner.jobs import followed
from runner.jobs.request import ConfirmRequest, RunRequest, decode

if TYPE_CHECKING:
    from runner.jobs.request import Request
    from store.state.jobs import Job, State

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
    return "; ".join(filter(None, (said, followed.left_alone(settings.home(), job))))


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
