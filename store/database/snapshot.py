"""Immutable snapshots `index-<seq>.duckdb` and the pointer `CURRENT` to the newest.

Behind the name the pointer keeps what the system says of the file: whoever writes to it, changes that.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from typing import TYPE_CHECKING

from store.database import room
from store.folder import write_whole

if TYPE_CHECKING:
    from pathlib import Path

POINTER = "CURRENT"
KEPT_N = 2
"""A reader that has just read the pointer still finds its snapshot after one more publication."""
_NAME = re.compile(r"index-([0-9]{1,18})\.duckdb")
_FICLONE = 0x40049409


def current(store_dir: Path) -> Path | None:
    """Return the newest snapshot; None where none was published, or the pointer is damaged."""
    name, _ = _pointer(store_dir)
    path = store_dir / name
    return path if _NAME.fullmatch(name) and path.is_file() else None


def is_intact(store_dir: Path) -> bool:
    """Tell whether there is a newest snapshot, and nobody wrote to it since it was published."""
    path = current(store_dir)
    return path is not None and _pointer(store_dir)[1] == signature(path)


def signature(path: Path) -> str:
    """Return what changes with every write to a file, even where its time is set back; empty without a file."""
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"


def existing_snapshots(store_dir: Path) -> list[Path]:
    """Return the snapshots that are there, the newest first."""
    return [store_dir / f"index-{number}.duckdb" for number in sorted(_numbers(store_dir), reverse=True)]


def _pointer(store_dir: Path) -> tuple[str, str]:
    """Return the name in the pointer and what stands behind it."""
    try:
        text = (store_dir / POINTER).read_text(encoding="ascii", errors="replace")
    except OSError:
        return "", ""
    name, _, rest = text.partition("\n")
    return name.strip(), rest.strip()


def number_of(path: Path) -> int:
    """Return the sequence number in a snapshot's name."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def next_number(store_dir: Path) -> int:
    """Return the number of the next snapshot: the time in ms, so that a name is never used twice.

    DuckDB gives a process that still holds a database of the same path the old content, also when the folder was
    emptied in between.
    """
    return max([time.time_ns() // 10**6, *(number + 1 for number in _numbers(store_dir))])


def publish(store_dir: Path, database: Path, number: int, *, move: bool = False) -> Path:
    """Make a closed database, or a copy of it, the snapshot of this number and point to it; returns the snapshot."""
    target = store_dir / f"index-{number}.duckdb"
    if move:
        database.replace(target)
    else:
        temporary = target.with_suffix(".tmp")
        copy(database, temporary)
        temporary.replace(target)
    write_whole(store_dir / POINTER, f"{target.name}\n{signature(target)}\n".encode("ascii"))
    return target


def prune(store_dir: Path) -> None:
    """Remove old snapshots that no other process reads, and what a publication or a query left that was killed.

    DuckDB spills into folders that end in `.tmp` too, and may leave one behind, empty, when it closes.
    """
    keep = current(store_dir)
    for number in sorted(_numbers(store_dir))[:-KEPT_N]:
        path = store_dir / f"index-{number}.duckdb"
        if path != keep and not in_use(path):
            path.unlink(missing_ok=True)
    for leftover in store_dir.glob("*.tmp"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def in_use(path: Path) -> bool:
    """Tell whether another process has a database open: DuckDB holds a lock on it, also for reading only."""
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _numbers(store_dir: Path) -> list[int]:
    return [int(match[1]) for path in store_dir.iterdir() if (match := _NAME.fullmatch(path.name))]


def copy(source: Path, target: Path) -> None:
    """Share the blocks where the file system can, else copy; either way the copy is on disk when this returns.

    Raises:
        NoRoom: the disk has too little for a copy.
    """
    with source.open("rb") as reader, target.open("wb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        except OSError:
            room.require(target.parent, source.stat().st_size)
            shutil.copyfileobj(reader, writer, 2**22)
        writer.flush()
        os.fsync(writer.fileno())
