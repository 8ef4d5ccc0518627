"""Jobs and the actions on them, as rows; `runner.jobs` defines what a request contains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

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


_FIELDS = Job.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_ACTION_FIELDS = Action.__struct_fields__
_ACTION_COLUMNS = ", ".join(_ACTION_FIELDS)


def add(con: sqlite3.Connection, job: Job) -> Job:
    """Write a new job; returns it with its number."""
    values = {name: getattr(job, name) for name in _FIELDS if name != "job_id"}
    columns, places = ", ".join(values), ", ".join(f":{name}" for name in values)
    cursor = con.execute(f"INSERT INTO jobs ({columns}) VALUES ({places})", values)  # noqa: S608 (our names)
    return msgspec.structs.replace(job, job_id=int(cursor.lastrowid or 0))


def get(con: sqlite3.Connection, job_id: int) -> Job | None:
    """Return a job by its number."""
    rows = con.execute(f"SELECT {_COLUMNS} FROM jobs WHERE job_id = ?", (job_id,))  # noqa: S608 (our names)
    return next(map(_job, rows), None)


def by_key(con: sqlite3.Connection, key: str) -> Job | None:
    """Return a job by its submitter's key."""
    rows = con.execute(f"SELECT {_COLUMNS} FROM jobs WHERE key = ?", (key,))  # noqa: S608 (our names)
    return next(map(_job, rows), None)


def in_states(con: sqlite3.Connection, states: Iterable[State]) -> list[Job]:
    """Return the jobs in these states, in the order in which they are to be started."""
    values = tuple(states)
    where = f"state IN ({', '.join('?' * len(values))})"
    rows = con.execute(f"SELECT {_COLUMNS} FROM jobs WHERE {where} ORDER BY priority DESC, job_id", values)  # noqa: S608
    return list(map(_job, rows))


def newest(con: sqlite3.Connection, limit: int) -> list[Job]:
    """Return the jobs that were submitted last, the newest first."""
    rows = con.execute(f"SELECT {_COLUMNS} FROM jobs ORDER BY job_id DESC LIMIT ?", (limit,))  # noqa: S608 (our names)
    return list(map(_job, rows))


def change(con: sqlite3.Connection, job_id: int, before: Iterable[State], **fields: object) -> Job | None:
    """Set fields of a job if it is in one of the states `before`; returns it as it is now, None where it was not."""
    states = {f"state_{number}": state for number, state in enumerate(before)}
    where = ", ".join(f":{name}" for name in states)
    sets = ", ".join(f"{name} = :{name}" for name in fields)
    rows = con.execute(
        f"UPDATE jobs SET {sets} WHERE job_id = :job_id AND state IN ({where}) RETURNING {_COLUMNS}",  # noqa: S608 (ours)
        {**fields, **states, "job_id": job_id},
    ).fetchall()
    return next(map(_job, rows), None)


def act(con: sqlite3.Connection, action: Action) -> None:
    """Write an action."""
    values = msgspec.structs.asdict(action)
    places = ", ".join(f":{name}" for name in values)
    con.execute(f"INSERT INTO job_actions ({_ACTION_COLUMNS}) VALUES ({places})", values)  # noqa: S608 (our names)


def actions(con: sqlite3.Connection, job_id: int | None = None) -> list[Action]:
    """Return the actions on a job, or all actions including refused ones, the oldest first."""
    where, values = ("", ()) if job_id is None else ("WHERE job_id = ?", (job_id,))
    rows = con.execute(f"SELECT {_ACTION_COLUMNS} FROM job_actions {where} ORDER BY action_id", values)  # noqa: S608
    records = (dict(zip(_ACTION_FIELDS, row, strict=True)) for row in rows)
    return [Action(**row | {"verified": bool(row["verified"])}) for row in records]


def spent_s(con: sqlite3.Connection, who: str, since: float) -> float:
    """Return the seconds of all ended attempts of the jobs that a person submitted since a time."""
    query = "SELECT coalesce(sum(spent_s), 0) FROM jobs WHERE who = ? AND submitted_at >= ?"
    return float(con.execute(query, (who, since)).fetchone()[0])


def _job(row: tuple[object, ...]) -> Job:
    fields = dict(zip(_FIELDS, row, strict=True))
    flags = {name: bool(fields[name]) for name in ("verified", "retry_failed")}
    return Job(**fields | flags)  # type: ignore[arg-type]
