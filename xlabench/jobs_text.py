"""Jobs as text and JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from runner.jobs.check import plain
from store.state.jobs import Action, Job

_LONGEST_S = 1e11


def line(job: Job, alone: str = "") -> str:
    """Return one line about a job; `alone` says that no worker follows it."""
    reason = _reason(job, alone)
    why = f" ({reason})" if reason else ""
    return plain(f"job {job.job_id}  {job.state}{why}  {job.label}  {job.who}")


def table(jobs: Sequence[Job], places: Mapping[int, int], form: str, alone: Mapping[int, str]) -> str:
    """Return the jobs as rows, the newest first; a waiting one has its place in the queue.

    Args:
        jobs: the jobs to list.
        places: places in the queue, by number of the waiting job.
        form: text or json.
        alone: sentences about jobs that no worker follows, by number.
    """
    if form == "json":
        return as_json([_data(job, alone.get(job.job_id, "")) | {"place": places.get(job.job_id)} for job in jobs])
    from tabulate import tabulate

    rows = [
        (
            *(job.job_id, _state(job, places), moment(job.submitted_at), _took(job)),
            *map(plain, (job.who, job.label, _reason(job, alone.get(job.job_id, "")))),
        )
        for job in jobs
    ]
    headers = ("job", "state", "submitted (UTC)", "ran", "who", "label", "")
    return tabulate(rows, headers, tablefmt="plain", disable_numparse=True) + "\n"


def details(job: Job, actions: Sequence[Action], form: str, alone: str = "") -> str:
    """Return all facts about a job, and the actions on it."""
    if form == "json":
        return as_json(_data(job, alone) | {"actions": msgspec.to_builtins(actions)})
    facts = {
        "why": job.why,
        "request": job.request,
        "attempts": f"{job.attempts}, {job.tries_left} left",
        "process": f"{job.pid} on {job.host}" if job.pid else "",
        "run": job.run_id,
        "folder": job.folder,
        "exit code": job.exit_code,
        "submitted": moment(job.submitted_at),
        "started": moment(job.started_at),
        "finished": moment(job.finished_at),
    }
    lines = [
        line(job, alone),
        *(f"  {name:<10} {plain(str(value))}" for name, value in facts.items() if value not in (None, "")),
    ]
    lines += [plain(f"  {moment(act.acted_at)}  {act.action}  {act.who}  {act.detail}".rstrip()) for act in actions]
    return "\n".join(lines) + "\n"


def _reason(job: Job, alone: str) -> str:
    return "; ".join(filter(None, (job.message, alone)))


def _state(job: Job, places: Mapping[int, int]) -> str:
    place = places.get(job.job_id)
    return f"{job.state} (position {place})" if place else job.state


def _took(job: Job) -> str:
    if job.started_at is None or job.finished_at is None:
        return ""
    return f"{max(0.0, job.finished_at - job.started_at):.0f} s"


def moment(seconds: float | None) -> str:
    """Return a time as people read it; the table may hold any number."""
    if seconds is None or not 0 <= seconds < _LONGEST_S:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _data(job: Job, alone: str) -> dict[str, Any]:
    """Return a job with its request as data."""
    fields: dict[str, Any] = msgspec.to_builtins(job) | {"unfollowed_reason": alone}
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        fields["request"] = msgspec.json.decode(job.request)
    return fields


def as_json(content: object) -> str:
    """Return data as text that a person can read, too."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
