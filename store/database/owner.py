"""The one process that writes the index, its private working database, and the ledger of what it wrote there.

The ledger says which parts of the working database were written since each snapshot, as DuckDB's own log of its writes
has them: an older snapshot becomes the newest by these parts alone. Where anything is unknown (an owner was killed,
somebody else wrote to a file) the ledger says so, and the files are compared as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import filelock
import msgspec

from store.database import snapshot
from store.database.migrate import migrate, prune_samples, refresh
from store.database.snapshot import Connection
from store.database.watermarks import Watermark, watermarks
from store.errors import OwnerBusy, StorageError
from store.files import write_atomically

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
    """File status of the working database when its last owner closed it; None if no owner recorded it."""
    sessions: dict[int, Parts] = msgspec.field(default_factory=dict)
    """Number of an owner's session, which is that of its snapshot if it published one → what it wrote."""
    snapshots: dict[int, str] = msgspec.field(default_factory=dict)
    """Number of a snapshot → what the system said of it after its publication."""
    unjoined_n: int = 0
    """Publications since row groups were joined."""

    def forget(self) -> None:
        """Forget all parts, because an unknown process wrote to the working database."""
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
        self.snapshots = {key: text for key, text in self.snapshots.items() if key in existing}
        oldest = min(self.snapshots, default=number)
        self.sessions = {key: found for key, found in self.sessions.items() if key >= oldest} | {number: parts}

    def behind(self, path: Path) -> Parts | None:
        """Return the parts in which a snapshot may differ from the working database; None where that is unknown."""
        number = snapshot.number_of(path)
        if self.snapshots.get(number) != snapshot.signature(path):
            return None
        return set().union(*(parts for session, parts in self.sessions.items() if session > number))


def read_ledger(path: Path) -> Ledger:
    """Return the ledger that the last owner left."""
    try:
        text = path.read_bytes()
    except OSError:
        return Ledger()
    try:
        return msgspec.json.decode(text, type=Ledger)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Ledger(work=text.decode("ascii", "replace"))


def save_ledger(path: Path, ledger: Ledger) -> None:
    """Write the ledger, if it changed."""
    if ledger != read_ledger(path):
        write_atomically(path, msgspec.json.encode(ledger))


def detached(con: Connection, database: str, path: Path) -> Parts:
    """Detach a database and return the parts that were written since it was attached."""
    con.execute("USE memory")
    con.execute(f"DETACH {database}")
    return {(offset, count) for offset, count in con.execute(_WRITTEN, {"path": str(path)}).fetchall()}


WORK = "work.duckdb"
REBUILT = "rebuilt.duckdb"
"""What a rebuild writes; one that was killed leaves the old database as it was."""
COMPACT = "compact.duckdb"
"""A copy without the rows whose samples were pruned."""
_MOST_UNUSED = 0.1
"""Share of deleted rows, or of free blocks, above which such a copy is made: it costs seconds in a large index."""
_DELETED = """
SELECT 1 - (SELECT count(*) FROM records) / sum(count)
FROM pragma_storage_info('records')
WHERE column_name = 'record_id' AND segment_type <> 'VALIDITY'
"""
_FREE = """
SELECT free_blocks / (used_blocks + free_blocks), used_blocks * block_size
FROM pragma_database_size()
WHERE database_name = $name
"""
LOCK = "owner.lock"
STORAGE_VERSION = "v1.5.0"
"""Readers of the version before this one can open the files."""
NOTE = "work.note"
"""What the last owner knew of the working database when it closed it; if that differs, all is read first."""
DATABASE = "work"
ROW_GROUP_LINES = 61_440
"""Half of DuckDB's own: what a load holds before it writes, and so its memory, is halved, at no measured time."""
JOIN_EVERY = 50
"""Publications after which the small row groups at the end of each table are joined."""
SMALL_GROUP_LINES = 4096
"""Records from which a row group is left as it is."""
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = $name"
_TAIL = """
WITH row_groups AS (
    SELECT
        row_group_id, sum(count) AS rows_n,
        sum(rows_n) OVER from_end AS tail_rows_n,
        max(rows_n) OVER from_end AS largest_n
    FROM pragma_storage_info($table)
    WHERE column_path = '[0]'
    GROUP BY row_group_id
    WINDOW from_end AS (ORDER BY row_group_id DESC)
)
SELECT (SELECT sum(rows_n) FROM row_groups) - max(tail_rows_n)
FROM row_groups
WHERE largest_n < $small AND tail_rows_n <= $most
HAVING count(*) > 1
"""
"""The rowid at which the small row groups at the end of a table begin; no row if there are fewer than two."""
_JOINED = """
CREATE OR REPLACE TEMP TABLE tail AS SELECT * FROM {table} WHERE rowid >= {first} ORDER BY rowid;
DELETE FROM {table} WHERE rowid >= {first};
INSERT INTO {table} FROM tail;
DROP TABLE tail
"""
SETTINGS = {
    "enable_progress_bar": "false",
    "memory_limit": "800MB",
    # A checkpoint compresses a table's last row group again; by default each batch of an ingest would end in one.
    "checkpoint_threshold": "1GB",
    # A checkpoint joins row groups that are not full, the first ones of a table first: see `_join_tails`.
    "max_vacuum_tasks": "0",
    # Of a bulk load no more than one row group of a table waits in memory.
    "write_buffer_row_group_count": "1",
}


class Index(msgspec.Struct):
    """The open working database."""

    con: Connection
    before: dict[str, Watermark]
    """For a rebuild: the files that the old index knew, which are read in addition to the requested ones."""


@contextmanager
def owner(store_dir: Path, *, rebuild: bool = False, wait_s: float = 600.0) -> Iterator[Index]:
    """Own the index: lock it, open the working database, and publish at the end if it changed.

    Args:
        store_dir: folder of the index; created if need be.
        rebuild: begin with an empty database, which takes the place of the old one at the end.
        wait_s: how long to wait for another owner.

    Raises:
        OwnerBusy: another process owned it for longer than `wait_s`.
        NoRoom: the disk is too full.
        StorageError: the index belongs to a later version.
    """
    store_dir.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(store_dir / LOCK)
    try:
        lock.acquire(timeout=wait_s)
    except filelock.Timeout:
        raise OwnerBusy(
            f"Another process has been writing the index in {store_dir} for {wait_s:.0f} s. "
            "Wait for it to end, then ingest again; nothing is lost."
        ) from None
    try:
        with snapshot.full_disk_as_error(store_dir):
            yield from _owned(store_dir, rebuild=rebuild)
    finally:
        lock.release()


def _owned(store_dir: Path, *, rebuild: bool) -> Iterator[Index]:
    _remove(store_dir / REBUILT)
    _remove(store_dir / COMPACT)
    work = store_dir / (REBUILT if rebuild else WORK)
    before = _old_watermarks(store_dir) if rebuild else {}
    known = read_ledger(store_dir / NOTE)
    con = _connect_unlogged(work) if rebuild else _open(store_dir, work, known)
    try:
        _migrate(con, store_dir)
        yield Index(con, before)
        refresh(con)
        pruned = prune_samples(con)
        number, published = snapshot.next_number(store_dir), _is_published(con, store_dir)
        if not published:
            con.execute("INSERT INTO index_facts VALUES ('snapshot', $number)", {"number": str(number)})
            _write_all(con, known, joins=pruned)
        compact = pruned and _is_compacted(con, store_dir / COMPACT)
        written = detached(con, DATABASE, work)
    finally:
        con.close()
    if compact:
        _remove(work)
        work, rebuild = store_dir / COMPACT, True
    if rebuild:
        _remove(store_dir / WORK)  # the next owner begins with a copy of the snapshot
    else:
        known.add(store_dir, number, written)
        known.work = snapshot.signature(work)
        save_ledger(store_dir / NOTE, known)
    if not published:
        snapshot.publish(store_dir, work, number, None if rebuild else known.behind)
        snapshot.prune(store_dir)


def _write_all(con: Connection, known: Ledger, *, joins: bool) -> None:
    """Write everything to the file; small row groups are joined now and then only."""
    joins = joins or known.unjoined_n >= JOIN_EVERY
    known.unjoined_n = 0 if joins else known.unjoined_n + 1
    if joins:
        _join_tails(con)
    con.execute("CHECKPOINT")


def _join_tails(con: Connection) -> None:
    """Write the rows of small row groups at the end of each table once more, in one row group.

    Each publication adds a row group to each table that it adds to, and each row group costs time. DuckDB would join
    those of a bulk load first, which takes seconds, and reach the last ones after many publications.
    """
    tables = con.execute(_TABLES, {"name": DATABASE}).fetchall()
    con.execute("BEGIN")
    for (table,) in tables:
        limits = {"table": table, "small": SMALL_GROUP_LINES, "most": ROW_GROUP_LINES}
        for (first,) in con.execute(_TAIL, limits).fetchall():
            con.execute(_JOINED.format(table=table, first=int(first)))
    con.execute("COMMIT")


def _is_compacted(con: Connection, target: Path) -> bool:
    """Copy the database where much of its file is of no use, and the disk has room for a copy.

    Blocks stay in the file when they are free, and a checkpoint does not always free those of deleted rows.
    """
    [(deleted,)] = con.execute(_DELETED).fetchall()
    [(free, size)] = con.execute(_FREE, {"name": DATABASE}).fetchall()
    if max(deleted, free) <= _MOST_UNUSED or not snapshot.has_room(target.parent, size):
        return False
    options = f"STORAGE_VERSION '{STORAGE_VERSION}', ROW_GROUP_SIZE {ROW_GROUP_LINES}, RECOVERY_MODE no_wal_writes"
    con.execute(f"ATTACH $path AS compact ({options})", {"path": str(target)})
    con.execute(f"COPY FROM DATABASE {DATABASE} TO compact")
    con.execute("CHECKPOINT compact")
    con.execute("DETACH compact")
    return True


def _migrate(con: Connection, store_dir: Path) -> None:
    try:
        _migrate_in_memory(con)
    except duckdb.Error as error:
        if snapshot.is_disk_full(error):
            raise
        raise StorageError(
            f"The index in {store_dir} cannot be migrated to this version ({str(error).splitlines()[0]}). "
            "Run `xlabench ingest --rebuild`: it rebuilds the index from the run folders; nothing is lost."
        ) from error


def _migrate_in_memory(con: Connection) -> None:
    """Migrate in the memory of an ingest; where that is too little, as for a million records, in more of it, once."""
    try:
        migrate(con)
    except duckdb.OutOfMemoryException:
        con.execute("ROLLBACK")
        con.execute("RESET memory_limit")
        migrate(con)
        con.execute(f"SET memory_limit = '{SETTINGS['memory_limit']}'")


def mark_changed(con: Connection) -> None:
    """Say, in the transaction of a change, that no snapshot holds it: a kill cannot lose the publication."""
    con.execute("DELETE FROM index_facts WHERE name = 'snapshot'")


def _is_published(con: Connection, store_dir: Path) -> bool:
    newest = snapshot.current(store_dir)
    numbers = con.execute("SELECT value FROM index_facts WHERE name = 'snapshot'").fetchall()
    if newest is not None and numbers == [(str(snapshot.number_of(newest)),)] and snapshot.is_intact(store_dir):
        return True
    mark_changed(con)
    return False


def _open(store_dir: Path, work: Path, known: Ledger) -> Connection:
    """Open the working database; one that is lost or damaged is replaced by the newest snapshot that is whole.

    The snapshot carries its own watermarks, so the files are then read on from where it stands; without one the index
    begins empty, and is made of the files that were asked for.
    """
    is_as_left = known.work == snapshot.signature(work)
    if not is_as_left:
        known.forget()
    with suppress(duckdb.Error):
        if work.exists() and work.stat().st_size > 0:
            return _connect(work, whole=not is_as_left and known.work is not None)
    known.forget()
    _remove(work)
    for path in snapshot.existing_snapshots(store_dir):
        with suppress(duckdb.Error):
            snapshot.copy(path, work)
            return _connect(work, whole=True)
        _remove(work)
    return _connect(work)


def _connect_unlogged(work: Path) -> Connection:
    """Open a new database without a write-ahead log: a rebuild that is killed leaves nothing that anybody opens."""
    return _attached(work, "RECOVERY_MODE no_wal_writes")


def _attached(work: Path, *options: str) -> Connection:
    """Open a database by ATTACH: what `connect` has no option for."""
    con = duckdb.connect()
    try:
        for name, value in SETTINGS.items():
            con.execute(f"SET {name} = '{value}'")
        con.execute("SET temp_directory = $folder", {"folder": f"{work}.tmp"})
        con.execute("CALL enable_logging('FileSystem')")  # every write, from before a database is attached
        all_options = (f"STORAGE_VERSION '{STORAGE_VERSION}'", f"ROW_GROUP_SIZE {ROW_GROUP_LINES}", *options)
        con.execute(f"ATTACH $path AS {DATABASE} ({', '.join(all_options)})", {"path": str(work)})
        con.execute(f"USE {DATABASE}")
    except duckdb.Error:
        con.close()
        raise
    return con


def _connect(work: Path, *, whole: bool = False) -> Connection:
    """Open a database; `whole`: make sure first that every block of it can be read."""
    con = _attached(work)
    try:
        tables = "SELECT table_name FROM duckdb_tables() WHERE NOT temporary"
        for (table,) in con.execute(tables).fetchall() if whole else ():
            con.execute(f'SELECT max(hash(t)) FROM "{table}" AS t').fetchall()  # noqa: S608 (ours)
    except duckdb.Error:
        con.close()
        raise
    return con


def _old_watermarks(store_dir: Path) -> dict[str, Watermark]:
    """Return what the index knew before a rebuild; of one that cannot be read, nothing."""
    for path in snapshot.existing_snapshots(store_dir) if not (store_dir / WORK).exists() else ():
        # One of an older version lacks columns: it is brought up below, in a copy.
        with suppress(duckdb.Error), duckdb.connect(str(path), read_only=True) as con:
            return watermarks(con)
    with suppress(duckdb.Error):
        con = _open(store_dir, store_dir / WORK, read_ledger(store_dir / NOTE))
        try:
            with suppress(StorageError):  # one that is too early to be migrated still names its files
                migrate(con)
            return watermarks(con)
        finally:
            con.close()
    return {}


def _remove(work: Path) -> None:
    for path in (work, work.with_name(work.name + ".wal")):
        path.unlink(missing_ok=True)
