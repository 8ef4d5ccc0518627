"""Reviews of findings: notes, states and assignees. Entries are only added, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import Literal, get_args

import msgspec

from store.errors import UsageError
from store.state.database import opened

State = Literal["open", "known", "expected", "filed", "wontfix"]
STATES: tuple[State, ...] = get_args(State)
LONGEST_NOTE = 4000
LONGEST_NAME = 200
DOUBLE_CLICK = timedelta(seconds=10)
"""An equal entry of the same person within this time is a double click, and is stored once."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """Subject of a review, named by keys that survive a rebuild of the index."""

    run_id: str
    """The run with the finding."""
    series: str
    """The key of the series; for a finding about several series, what they have in common."""
    finding: str
    """Kind of finding: `speed`, `failure`, `fallback op nonzero`; with the other side, if that is no earlier run."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of one person at one time; None leaves a field unchanged."""

    entry_id: int = 0
    """0 until it is written."""
    subject: Subject
    what: str
    """The subject in words, for readers without an index."""
    state: State | None = None
    reference: str | None = None
    """Number or address of the report that was filed."""
    assignee: str | None = None
    """Name of the assignee; an empty text removes the assignee."""
    note: str | None = None
    who: str
    verified: bool
    """Whether a login gave the name; else it was typed."""
    created_at: datetime


class ReviewStanding(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of a subject after all entries."""

    state: State = "open"
    reference: str | None = None
    assignee: str | None = None
    note: str | None = None
    entries: tuple[Entry, ...] = ()
    """All entries, the oldest first."""


OPEN = ReviewStanding()
_SUBJECT = Subject.__struct_fields__
_ANSWER = ("what", "state", "reference", "assignee", "note", "who", "verified", "created_at")
_COLUMNS = ", ".join((*_SUBJECT, *_ANSWER))


def add(state: Path, entries: Sequence[Entry]) -> None:
    """Write entries in one transaction; an entry that repeats the last one after a double click is left out.

    Raises:
        UsageError: an entry is empty, has no name, or is too long.
    """
    rows = [(entry, _row(entry)) for entry in entries]
    places = ", ".join("?" * (len(_SUBJECT) + len(_ANSWER)))
    with opened(state) as con:
        fresh = [row for entry, row in rows if not _repeats_newest(entry, _newest(con, entry.subject))]
        con.executemany(f"INSERT INTO reviews ({_COLUMNS}) VALUES ({places})", fresh)  # noqa: S608 (our names)


def listed(state: Path) -> list[Entry]:
    """Return all entries, the oldest first."""
    if not state.is_file():
        return []
    with opened(state) as con:
        rows = con.execute(f"SELECT entry_id, {_COLUMNS} FROM reviews ORDER BY entry_id")  # noqa: S608
        return [_entry(dict(zip(("entry_id", *_SUBJECT, *_ANSWER), row, strict=True))) for row in rows]


def _newest(con: Connection, subject: Subject) -> Entry | None:
    where = "WHERE run_id = ? AND series = ? AND finding = ? ORDER BY entry_id DESC LIMIT 1"
    words = (subject.run_id, subject.series, subject.finding)
    row = con.execute(f"SELECT entry_id, {_COLUMNS} FROM reviews {where}", words).fetchone()  # noqa: S608 (our names)
    return _entry(dict(zip(("entry_id", *_SUBJECT, *_ANSWER), row, strict=True))) if row else None


def _repeats_newest(entry: Entry, newest: Entry | None) -> bool:
    """Tell whether an entry adds nothing to the last entry of the same person a moment before."""
    if newest is None or newest.who != entry.who or entry.created_at - newest.created_at > DOUBLE_CLICK:
        return False
    names = ("state", "reference", "assignee", "note")
    return all(getattr(entry, name) in (None, getattr(newest, name)) for name in names)


def standings(entries: Iterable[Entry]) -> dict[Subject, ReviewStanding]:
    """Return the present state of each subject."""
    by_subject: dict[Subject, ReviewStanding] = {}
    for entry in entries:
        by_subject[entry.subject] = _after(by_subject.get(entry.subject, OPEN), entry)
    return by_subject


def _after(before: ReviewStanding, entry: Entry) -> ReviewStanding:
    state = entry.state or before.state
    return ReviewStanding(
        state=state,
        reference=(entry.reference or before.reference) if state == "filed" else None,
        assignee=(before.assignee if entry.assignee is None else entry.assignee) or None,
        note=entry.note or before.note,
        entries=(*before.entries, entry),
    )


def _row(entry: Entry) -> tuple[str | int | None, ...]:
    if entry.state is None and entry.assignee is None and not entry.note:
        raise UsageError("The entry is empty. Write a note, choose a state or name an assignee.")
    if not entry.who.strip():
        raise UsageError("A name is missing. Enter yours, so that others can ask you.")
    if entry.state is not None and entry.state not in STATES:
        raise UsageError(f"{entry.state!r} is not a state. Use one of {', '.join(STATES)}.")
    if entry.state == "filed" and not entry.reference:
        raise UsageError("A filed finding needs a reference: enter the report, as #123 or its address.")
    if len(entry.note or "") > LONGEST_NOTE:
        raise UsageError(f"A note has at most {LONGEST_NOTE} characters. Shorten it, or link to a longer text.")
    if max(len(text or "") for text in (entry.who, entry.assignee, entry.reference)) > LONGEST_NAME:
        raise UsageError(f"Names and references have at most {LONGEST_NAME} characters. Shorten them.")
    subject = (entry.subject.run_id, entry.subject.series, entry.subject.finding)
    words = (entry.what, entry.state, entry.reference, entry.assignee, entry.note, entry.who)
    return (*subject, *words, int(entry.verified), entry.created_at.isoformat(sep=" "))


def _entry(row: dict[str, str | int | None]) -> Entry:
    subject = msgspec.convert({name: row.pop(name) for name in _SUBJECT}, Subject)
    times = {"created_at": datetime.fromisoformat(str(row["created_at"])), "verified": bool(row["verified"])}
    return Entry(subject=subject, **row | times)  # type: ignore[arg-type]
