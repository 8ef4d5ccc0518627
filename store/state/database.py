"""Open `state.sqlite` with a write-ahead log and migrations; refuse network file systems."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from importlib.resources import files
from pathlib import Path

from store.errors import StateError

_BUSY_S = 30.0
_RETRY_S = 0.01
_LEAST_FREE_BYTES = 1 << 20
"""Free space below which a disk counts as full: SQLite needs a few pages beside the database."""
_MODE = 0o600
BACKUPS = "state-backups"
"""Folder beside the database with one copy per day, of the last days."""
_BACKUPS_KEPT = 7
_NETWORK = frozenset({"9p", "afs", "ceph", "cifs", "fuse.sshfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"})
_MOUNTS = Path("/proc/self/mounts")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database, create or migrate it if necessary, and run the block as one transaction.

    Raises:
        StateError: it lies on a network file system, a later version wrote it, or it is no database.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _refuse_network(path)
    try:
        _close_to_others(path)
        with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as con:
            con.text_factory = _text
            _write_ahead(con)
            con.execute("PRAGMA synchronous = FULL")
            con.execute("BEGIN IMMEDIATE")
            _migrate(con, path)
            yield con
            con.execute("COMMIT")
    except sqlite3.OperationalError as error:
        advice = _space_advice(error, path) or "Check its permissions, and which programs use it."
        raise StateError(f"{path} cannot be opened: {error}. {advice}") from None
    except sqlite3.DatabaseError as error:
        raise StateError(f"{path} cannot be used: {error}. Replace it with a backup, or remove it.") from None


def _space_advice(error: Exception, path: Path) -> str:
    """Return what to do if the disk of a database is full; SQLite often reports only an I/O error. Empty otherwise."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_FULL:
        try:
            if shutil.disk_usage(path.parent).free >= _LEAST_FREE_BYTES:
                return ""
        except OSError:
            return ""
    return f"The disk of {path.parent} is full. Free some space, then repeat the command."


def _write_ahead(con: sqlite3.Connection) -> None:
    """Use a write-ahead log; wait for another connection that makes the same change to a new file.

    SQLite's own timeout does not cover this change: where two connections make it at once, one is refused immediately.
    """
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            con.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _close_to_others(path: Path) -> None:
    """Make the file readable for its owner only: it contains names, notes and requests of people."""
    with suppress(OSError):  # SQLite reports what cannot be opened; a file of another user keeps its mode
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE))
        elif stat.S_IMODE(path.stat().st_mode) & ~_MODE:
            path.chmod(_MODE)


def check(path: Path) -> None:
    """Check the integrity of the database with SQLite's quick check.

    Raises:
        StateError: it is damaged.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as con:
            results = [str(row[0]) for row in con.execute("PRAGMA quick_check(3)")]
    except sqlite3.DatabaseError as error:
        results = [str(error)]
    if results != ["ok"]:
        problem = " ".join("; ".join(results).split())[:300]
        raise StateError(
            f"{path} is damaged ({problem}). Stop the programs that use it and "
            f"put the newest intact copy of {path.parent / BACKUPS} in its place."
        )


def back_up_daily(path: Path, now: datetime) -> Path | None:
    """Keep a copy of a whole database once a day; return the new one.

    Raises:
        StateError: the database is damaged; the earlier copies stay.
    """
    folder = path.parent / BACKUPS
    target = folder / f"state-{now:%Y%m%d}.sqlite"
    if not path.is_file() or target.exists():
        return None
    check(path)
    folder.mkdir(mode=0o700, exist_ok=True)
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    backup(path, part)
    part.replace(target)
    for copy in sorted(folder.glob("state-*.sqlite"))[:-_BACKUPS_KEPT]:
        copy.unlink(missing_ok=True)
    return target


def _text(data: bytes) -> str:
    """Decode any bytes as text: one invalid row must not make all others unreadable."""
    return data.decode(errors="replace")


def backup(path: Path, target: Path) -> None:
    """Write a consistent copy while others use the database.

    Raises:
        StateError: there is nothing to copy, the target exists, or it cannot be written.
    """
    if not path.is_file():
        raise StateError(f"There is no {path}: there is nothing to back up yet.")
    if target.exists():
        raise StateError(f"{target} exists. Name a new file.")
    if not target.parent.is_dir():
        raise StateError(f"There is no folder {target.parent}. Create it, or name a file in another folder.")
    try:
        target.touch(_MODE, exist_ok=False)
    except OSError as error:
        raise StateError(f"{target} cannot be written: {error}. Check the permissions of its folder.") from None
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except (sqlite3.Error, OSError) as error:
        advice = _space_advice(error, target) or _space_advice(error, path) or "Check the permissions of both."
        target.unlink(missing_ok=True)  # an incomplete copy must not be taken for a backup
        raise StateError(f"{path} cannot be copied to {target}: {error}. {advice}") from None


def _migrate(con: sqlite3.Connection, path: Path) -> None:
    con.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY) STRICT")
    applied = {name for (name,) in con.execute("SELECT name FROM migrations")}
    folder = files("store.state") / "migrations"
    scripts = sorted(script.name for script in folder.iterdir() if script.name.endswith(".sql"))
    if unknown := sorted(applied - set(scripts)):
        raise StateError(f"{path} was written by a later version (it has {', '.join(unknown)}). Install that version.")
    for name in scripts:
        if name not in applied:
            for statement in _statements((folder / name).read_text(encoding="utf-8")):
                con.execute(statement)
            con.execute("INSERT INTO migrations VALUES (?)", (name,))


def _statements(script: str) -> Iterator[str]:
    """Yield one statement at a time: `executescript` would commit before the first."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""


def _refuse_network(path: Path) -> None:
    kind = file_system(path.resolve().parent)
    if kind in _NETWORK:
        raise StateError(
            f"{path} is on a network file system ({kind}), where SQLite's locks do not work. "
            "Name a home on a local disk (--home)."
        )


def file_system(folder: Path) -> str | None:
    """Return the kind of file system that a folder lies on; None where the system does not say."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    places = [(parts[1].replace("\\040", " "), parts[2]) for line in lines if len(parts := line.split()) > 2]  # noqa: PLR2004
    inside = [(place, kind) for place, kind in places if folder.is_relative_to(place)]
    return max(inside, key=lambda pair: len(pair[0]))[1] if inside else None
