"""Jobs and the actions on them, as rows; `runner.jobs` defines what a request contains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from store.state.rows import columns, insert, read, select

if TYPE_CHECKING:
    import sqlite3  # `xlabench --help` imports this file, and starts without a database

State = Literal["queued", "starting", "running", "done", "failed", "cancelled", "lost"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `jobs`; times are Unix seconds, None until the job reaches that point."""

    job_id: int = 0
    """0 until it is written."""
    key: str
    """The submitter's key: two submissions with one key are one job."""
    request: str
    """JSON; see `runner.jobs.request`."""
    label: str
    why: str
    who: str
    verified: bool
    """Whether a login gave the name; else it was typed."""
    priority: int = 0
    """Higher ones go first."""
    timeout_s: float
    """Running time of one attempt."""
    state: State = "queued"
    attempts: int = 0
    """Number of attempts that have begun."""
    tries_left: int
    """Attempts that a lost job may still begin."""
    retry_failed: bool = False
    """Whether somebody retried the job: then experiments that failed are measured again, too."""
    executor: str | None = None
    host: str | None = None
    pid: int | None = None
    """Id of its leading process on `host`; `pid_started_at` makes it unambiguous."""
    pid_started_at: float | None = None
    cancel_wanted_at: float | None = None
    run_id: str | None = None
    folder: str | None = None
    """Folder of the run, as the run reported it."""
    exit_code: int | None = None
    message: str = ""
    """One sentence that says why the job waits, failed or was lost."""
    spent_s: float = 0.0
    """Seconds of all attempts that have ended."""
    submitted_at: float
    started_at: float | None = None
    finished_at: float | None = None


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An action of a person or of the worker, or a refused one."""

    job_id: int | None
    action: str
    who: str
    verified: bool
    acted_at: float
    detail: str = ""


def add(con: sqlite3.Connection, job: Job) -> Job:
    """Write a new job; returns it with its number."""
    return insert(con, "jobs", job, "job_id")


def get(con: sqlite3.Connection, job_id: int) -> Job | None:
    """Return a job by its number."""
    return next(iter(select(con, Job, "jobs", "WHERE job_id = ?", (job_id,))), None)


def by_key(con: sqlite3.Connection, key: str) -> Job | None:
    """Return a job by its submitter's key."""
    return next(iter(select(con, Job, "jobs", "WHERE key = ?", (key,))), None)


def in_states(con: sqlite3.Connection, states: Iterable[State]) -> list[Job]:
    """Return the jobs in these states, in the order in which they are to be started."""
    values = tuple(states)
    where = f"WHERE state IN ({', '.join('?' * len(values))}) ORDER BY priority DESC, job_id"
    return select(con, Job, "jobs", where, values)


def newest(con: sqlite3.Connection, limit: int) -> list[Job]:
    """Return the jobs that were submitted last, the newest first."""
    return select(con, Job, "jobs", "ORDER BY job_id DESC LIMIT ?", (limit,))


def change(con: sqlite3.Connection, job_id: int, before: Iterable[State], **fields: object) -> Job | None:
    """Set fields of a job if it is in one of the states `before`; returns it as it is now, None where it was not."""
    states = {f"state_{number}": state for number, state in enumerate(before)}
    where = ", ".join(f":{name}" for name in states)
    sets = ", ".join(f"{name} = :{name}" for name in fields)
    rows = con.execute(
        f"UPDATE jobs SET {sets} WHERE job_id = :job_id AND state IN ({where}) RETURNING {columns(Job)}",  # noqa: S608 (ours)
        {**fields, **states, "job_id": job_id},
    ).fetchall()
    return next(iter(read(Job, rows)), None)


def act(con: sqlite3.Connection, action: Action) -> None:
    """Write an action."""
    insert(con, "job_actions", action)


def actions(con: sqlite3.Connection, job_id: int | None = None) -> list[Action]:
    """Return the actions on a job, or all actions including refused ones, the oldest first."""
    where, values = ("", ()) if job_id is None else ("WHERE job_id = ?", (job_id,))
    return select(con, Action, "job_actions", f"{where} ORDER BY action_id", values)


def spent_s(con: sqlite3.Connection, who: str, since: float) -> float:
    """Return the seconds of all ended attempts of the jobs that a person submitted since a time."""
    query = "SELECT coalesce(sum(spent_s), 0) FROM jobs WHERE who = ? AND submitted_at >= ?"
    return float(con.execute(query, (who, since)).fetchone()[0])
