"""Recurring runs: their schedules and the outcome of each due time, as rows."""

from __future__ import annotations

import sqlite3

import msgspec

from store.state.rows import insert, select


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `schedules`; times are Unix seconds."""

    schedule_id: int = 0
    """0 until it is written."""
    name: str
    """Label of its runs."""
    cron: str
    """Five fields, UTC."""
    request: str
    """JSON; see `runner.jobs.request`."""
    priority: int = 0
    timeout_s: float | None = None
    late_after_s: float
    """Seconds after its due time at which an unfinished run is late."""
    who: str
    verified: bool
    created_at: float
    removed_at: float | None = None


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A time at which a run was due."""

    schedule_id: int
    due_at: float
    job_id: int | None
    reason: str = ""
    """Why there is no job."""


def add(con: sqlite3.Connection, schedule: Schedule) -> Schedule:
    """Write a new schedule; return it with its number."""
    return insert(con, "schedules", schedule, "schedule_id")


def remove(con: sqlite3.Connection, name: str, at: float) -> bool:
    """End the schedule of this name; return whether there was one."""
    query = "UPDATE schedules SET removed_at = ? WHERE name = ? AND removed_at IS NULL"
    return con.execute(query, (at, name)).rowcount > 0


def active(con: sqlite3.Connection) -> list[Schedule]:
    """Return the schedules that are not removed, by name."""
    return select(con, Schedule, "schedules", "WHERE removed_at IS NULL ORDER BY name")


def write_tick(con: sqlite3.Connection, tick: Tick) -> None:
    """Write the outcome of a due time; the first write counts."""
    con.execute(
        "INSERT OR IGNORE INTO schedule_ticks VALUES (:schedule_id, :due_at, :job_id, :reason)",
        msgspec.structs.asdict(tick),
    )


def last_tick(con: sqlite3.Connection, schedule_id: int, now: float) -> Tick | None:
    """Return the newest due time up to now; later ones were written while the clock was ahead."""
    query = (
        "SELECT due_at, job_id, reason FROM schedule_ticks WHERE schedule_id = ? AND due_at <= ? "
        "ORDER BY due_at DESC LIMIT 1"
    )
    row = con.execute(query, (schedule_id, now)).fetchone()
    return row and Tick(schedule_id=schedule_id, due_at=row[0], job_id=row[1], reason=row[2])
