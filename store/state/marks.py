"""Marks: breaks in the history that a person has marked, and why ("new driver")."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from store.errors import StateError, UsageError
from store.state.database import opened

_TIMES = ("marked_at", "created_at")


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


_FIELDS = Mark.__struct_fields__
NAMES = _FIELDS[3:-3]
"""Fields that restrict a mark to some series."""


def now() -> datetime:
    """Return the present as a naive UTC datetime, in whole seconds."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def add(state: Path, mark: Mark) -> Mark:
    """Write a mark; returns it with its number."""
    values = {name: _text(value) for name, value in msgspec.structs.asdict(mark).items() if name != "mark_id"}
    columns, places = ", ".join(values), ", ".join(f":{name}" for name in values)
    with opened(state) as con:
        cursor = con.execute(f"INSERT INTO marks ({columns}) VALUES ({places})", values)  # noqa: S608 (our names)
        return msgspec.structs.replace(mark, mark_id=int(cursor.lastrowid or 0))


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
        rows = con.execute(f"SELECT {', '.join(_FIELDS)} FROM marks ORDER BY mark_id").fetchall()  # noqa: S608 (ours)
    return [_mark(dict(zip(_FIELDS, row, strict=True))) for row in rows]


def _mark(row: dict[str, str | int | None]) -> Mark:
    return Mark(**row | {name: datetime.fromisoformat(str(row[name])) for name in _TIMES})  # type: ignore[arg-type]


def _text(value: str | int | datetime | None) -> str | int | None:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value


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
