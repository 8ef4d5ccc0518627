"""Marks: breaks in the history that a person has marked, and why ("new driver")."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from store.errors import StateError, UsageError
from store.state.database import opened
from store.state.rows import insert, select


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark: at `marked_at` (UTC) a new history begins for series that match all names; None matches every name."""

    mark_id: int = 0
    """0 until it is written."""
    marked_at: datetime
    run_id: str | None = None
    """The run at which it was set; None if it was set at a time."""
    suite: str | None = None
    model: str | None = None
    test: str | None = None
    backend: str | None = None
    variant: str | None = None
    environment: str | None = None
    accelerator: str | None = None
    accelerator_model: str | None = None
    machine_id: str | None = None
    text: str
    who: str
    created_at: datetime


NAMES = Mark.__struct_fields__[3:-3]
"""Fields that restrict a mark to some series."""


def now() -> datetime:
    """Return the present as a naive UTC datetime, in whole seconds."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def add(state: Path, mark: Mark) -> Mark:
    """Write a mark; returns it with its number."""
    with opened(state) as con:
        return insert(con, "marks", mark, "mark_id")


def remove(state: Path, mark_id: int) -> Mark:
    """Remove a mark and return it.

    Raises:
        StateError: there is no mark of this number.
    """
    for mark in listed(state):
        if mark.mark_id == mark_id:
            with opened(state) as con:
                con.execute("DELETE FROM marks WHERE mark_id = ?", (mark_id,))
            return mark
    raise StateError(f"There is no mark {mark_id}. `xlabench mark list` shows the existing ones.")


def listed(state: Path) -> list[Mark]:
    """Return all marks in the order in which they were written."""
    if not state.is_file():
        return []
    with opened(state) as con:
        return select(con, Mark, "marks", "ORDER BY mark_id")


def moment(text: str) -> datetime:
    """Parse a time that was typed; without a zone it is UTC.

    Raises:
        UsageError: it is no time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a time. Write it as 2026-11-21 or 2026-11-21T14:00 (UTC).") from None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
