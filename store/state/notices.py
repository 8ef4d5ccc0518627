"""Notices, each about one event, and the deliveries of each notice by channel, as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from store.state.rows import columns, insert, read, select

Kind = Literal[
    "run missing",
    "run late",
    "run incomplete",
    "newly failing",
    "suspected regression",
    "confirmed regression",
    "recovered",
]
State = Literal["pending", "sending", "sent", "failed", "unknown"]
FEED = "notices.atom"
"""File of the home with the newest notices, for feed readers."""
LONGEST_WAIT_S = 4 * 3600.0
"""Longest time by which a delivery is postponed."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `notices`; times are Unix seconds."""

    notice_id: int = 0
    """0 until it is written."""
    key: str
    """Permanent key of the event."""
    kind: Kind
    subject: str
    """Subject of the notice; the newest notice of a subject gives its present state."""
    title: str
    text: str
    page: str = ""
    """Page of the dashboard, relative to its address."""
    run_id: str | None = None
    base_run_id: str | None = None
    """The run with which it was compared."""
    happened_at: float
    """When the run began, or was due."""
    noticed_at: float = 0.0


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """State of a notice on one channel."""

    notice_id: int
    channel: str
    state: State
    tries: int
    next_at: float
    """Time before which a pending notice is not sent."""
    detail: str


def add(con: sqlite3.Connection, notice: Notice, channels: Iterable[str], now: float) -> Notice | None:
    """Write a notice, to be sent by these channels; None where its event is known already."""
    if con.execute("SELECT 1 FROM notices WHERE key = ?", (notice.key,)).fetchone():
        return None
    written = insert(con, "notices", msgspec.structs.replace(notice, noticed_at=now), "notice_id")
    rows = [(written.notice_id, channel, now) for channel in channels]
    con.executemany(
        "INSERT INTO notice_deliveries (notice_id, channel, state, next_at) VALUES (?, ?, 'pending', ?)", rows
    )
    return written


def newest(con: sqlite3.Connection, limit: int) -> list[Notice]:
    """Return the notices that were written last, the newest first."""
    return select(con, Notice, "notices", "ORDER BY notice_id DESC LIMIT ?", (limit,))


def standing(con: sqlite3.Connection) -> dict[str, Notice]:
    """Return the newest notice of each subject."""
    where = "WHERE notice_id IN (SELECT max(notice_id) FROM notices GROUP BY subject)"
    return {notice.subject: notice for notice in select(con, Notice, "notices", where)}


def deliveries(con: sqlite3.Connection, notice_ids: Sequence[int]) -> list[Delivery]:
    """Return the deliveries of these notices."""
    places = ", ".join("?" * len(notice_ids))
    where = f"WHERE notice_id IN ({places}) ORDER BY notice_id, channel"
    return select(con, Delivery, "notice_deliveries", where, tuple(notice_ids))


def due(con: sqlite3.Connection, channel: str, now: float) -> list[Notice]:
    """Return the notices that a channel has to send now, the oldest first.

    A delivery that would wait longer than `LONGEST_WAIT_S` was postponed while the clock was ahead; it is due now.
    """
    waiting = (
        "SELECT notice_id FROM notice_deliveries "
        "WHERE state = 'pending' AND channel = ? AND (next_at <= ? OR next_at > ?)"
    )
    where = f"WHERE notice_id IN ({waiting}) ORDER BY notice_id"
    return select(con, Notice, "notices", where, (channel, now, now + LONGEST_WAIT_S))


def next_at(con: sqlite3.Connection) -> float | None:
    """Return when the next pending delivery is due; None if there is none."""
    earliest = con.execute("SELECT min(next_at) FROM notice_deliveries WHERE state = 'pending'").fetchone()[0]
    return None if earliest is None else float(earliest)


def claim(con: sqlite3.Connection, channel: str, notice_ids: Iterable[int]) -> list[int]:
    """Mark notices as being sent by a channel, before they are sent; return those that were still pending."""
    query = (
        "UPDATE notice_deliveries SET state = 'sending', tries = tries + 1 "
        "WHERE notice_id = ? AND channel = ? AND state = 'pending'"
    )
    return [notice_id for notice_id in notice_ids if con.execute(query, (notice_id, channel)).rowcount]


def settle(
    con: sqlite3.Connection,
    channel: str,
    notice_ids: Iterable[int],
    state: State,
    *,
    detail: str,
) -> None:
    """Write the outcome of notices that were being sent."""
    query = (
        "UPDATE notice_deliveries SET state = ?, detail = ?, next_at = 0.0 "
        "WHERE notice_id = ? AND channel = ? AND state = 'sending'"
    )
    con.executemany(query, [(state, detail, notice_id, channel) for notice_id in notice_ids])


def abandon(con: sqlite3.Connection, detail: str) -> list[Delivery]:
    """Set deliveries that a dead process was sending to `unknown`; return them."""
    change = "UPDATE notice_deliveries SET state = 'unknown', detail = ? WHERE state = 'sending'"
    return read(Delivery, con.execute(f"{change} RETURNING {columns(Delivery)}", (detail,)).fetchall())


def postpone(con: sqlite3.Connection, channels: Iterable[str], until: float) -> None:
    """Postpone all pending deliveries of these channels until this time."""
    query = "UPDATE notice_deliveries SET next_at = max(next_at, ?) WHERE state = 'pending' AND channel = ?"
    con.executemany(query, [(until, channel) for channel in channels])


def drop_others(con: sqlite3.Connection, channels: Sequence[str], detail: str) -> None:
    """Set pending deliveries of all other channels to `failed`."""
    where = f"state = 'pending' AND channel NOT IN ({', '.join('?' * len(channels))})"
    con.execute(f"UPDATE notice_deliveries SET state = 'failed', detail = ? WHERE {where}", (detail, *channels))  # noqa: S608


def looks(con: sqlite3.Connection) -> dict[str, str]:
    """Return the runs that were searched for events, each with its state in the store at that time."""
    return dict(con.execute("SELECT run_id, state FROM notice_looks").fetchall())


def write_looks(con: sqlite3.Connection, looked: Mapping[str, str]) -> None:
    """Write that these runs were searched for events."""
    con.executemany("INSERT OR REPLACE INTO notice_looks VALUES (?, ?)", list(looked.items()))
