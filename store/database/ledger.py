"""Which parts of the working database were written since each snapshot, as DuckDB's own log of its writes has them.

An older snapshot becomes the newest by these parts alone. Where anything is unknown (an owner was killed, somebody else
wrote to a file) the ledger says so, and the files are compared as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from store.database import snapshot
from store.folder import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

Parts = set[tuple[int, int]]
"""Where a file was written to: offset and number of bytes."""
_WRITTEN = """
SELECT DISTINCT pos::BIGINT, bytes::BIGINT FROM duckdb_logs_parsed('FileSystem') WHERE op = 'WRITE' AND path = $path
"""
_MOST_PARTS = 2000
"""Most parts of a session (500 MB): a session that writes more has spent the time of many copies."""


class Ledger(msgspec.Struct):
    """What is known of the working database and of the snapshots that were made of it."""

    work: str | None = None
    """What the system said of the working database when its last owner closed it; None where no owner left a note."""
    sessions: dict[int, Parts] = msgspec.field(default_factory=dict)
    """Number of an owner's session, which is that of its snapshot if it published one → what it wrote."""
    snapshots: dict[int, str] = msgspec.field(default_factory=dict)
    """Number of a snapshot → what the system said of it after its publication."""
    unjoined_n: int = 0
    """Publications since row groups were joined."""

    def forget(self) -> None:
        """Take note that the working database was written to by nobody knows whom."""
        self.sessions, self.snapshots = {}, {}

    def add(self, store_dir: Path, number: int, parts: Parts) -> None:
        """Add what a session wrote, before its snapshot is published: the newest one is that of a session before it."""
        if not parts:
            return
        if len(parts) > _MOST_PARTS:
            self.forget()
            parts = set()
        newest = snapshot.current(store_dir)
        if newest is not None and snapshot.number_of(newest) in self.sessions and snapshot.is_intact(store_dir):
            self.snapshots[snapshot.number_of(newest)] = snapshot.signature(newest)
        existing = {snapshot.number_of(path) for path in snapshot.existing_snapshots(store_dir)}
        self.snapshots = {each: text for each, text in self.snapshots.items() if each in existing}
        oldest = min(self.snapshots, default=number)
        self.sessions = {each: found for each, found in self.sessions.items() if each >= oldest} | {number: parts}

    def behind(self, path: Path) -> Parts | None:
        """Return the parts in which a snapshot may differ from the working database; None where that is unknown."""
        number = snapshot.number_of(path)
        if self.snapshots.get(number) != snapshot.signature(path):
            return None
        return set().union(*(parts for each, parts in self.sessions.items() if each > number))


def read(path: Path) -> Ledger:
    """Return the ledger that the last owner left."""
    try:
        text = path.read_bytes()
    except OSError:
        return Ledger()
    try:
        return msgspec.json.decode(text, type=Ledger)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Ledger(work=text.decode("ascii", "replace"))


def save(path: Path, ledger: Ledger) -> None:
    """Write the ledger, if it changed."""
    if ledger != read(path):
        write_whole(path, msgspec.json.encode(ledger))


def begin(con: duckdb.DuckDBPyConnection) -> None:
    """Have every write logged, from before a database is attached."""
    con.execute("CALL enable_logging('FileSystem')")


def end(con: duckdb.DuckDBPyConnection, database: str, path: Path) -> Parts:
    """Detach a database and return the parts that were written since it was attached."""
    con.execute("USE memory")
    con.execute(f"DETACH {database}")
    return {(offset, count) for offset, count in con.execute(_WRITTEN, {"path": str(path)}).fetchall()}
