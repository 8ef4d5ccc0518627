"""Immutable snapshots `index-<seq>.duckdb`, the pointer `CURRENT` to the newest, and room on the disk for them.

Behind the name the pointer keeps what the system says of the file: whoever writes to it, changes that.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import duckdb

from store.errors import NoRoom
from store.files import sync_folder, write_atomically

Behind = Callable[[Path], Iterable[tuple[int, int]] | None]
# As text: DuckDB complains at exit about types of its own that a module keeps.
Connection: TypeAlias = "duckdb.DuckDBPyConnection"

POINTER = "CURRENT"
KEPT_N = 2
"""A reader that has just read the pointer still finds its snapshot after one more publication."""
_NAME = re.compile(r"index-([0-9]{1,18})\.duckdb")
_FICLONE = 0x40049409
_PART_BYTES = 2**16
_BLOCKS_FROM, _BLOCK_BYTES, _SUM_BYTES = 3 * 4096, 2**18, 8
"""Where the blocks of a DuckDB file begin, and how large they and their checksums are."""


def current(store_dir: Path) -> Path | None:
    """Return the newest snapshot; None where none was published, or the pointer is damaged."""
    name, _ = _pointer(store_dir)
    path = store_dir / name
    return path if _NAME.fullmatch(name) and path.is_file() else None


def is_intact(store_dir: Path) -> bool:
    """Tell whether the newest snapshot exists and is unchanged since its publication."""
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
    """Return the name in the pointer and the text after it."""
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


def publish(store_dir: Path, database: Path, number: int, behind: Behind | None) -> Path:
    """Make a closed database the snapshot of this number and point to it; returns the snapshot.

    Args:
        store_dir: the folder of the snapshots.
        database: becomes the snapshot itself where `behind` is None, else a copy of it does.
        number: of the snapshot.
        behind: tells of an older snapshot in which parts it may differ from the database; None where that is unknown.
    """
    target = store_dir / f"index-{number}.duckdb"
    if behind is None:
        database.replace(target)
    else:
        temporary = target.with_suffix(".tmp")
        _write_copy(store_dir, database, temporary, behind)
        temporary.replace(target)
    write_atomically(store_dir / POINTER, f"{target.name}\n{signature(target)}\n".encode("ascii"))
    return target


def _write_copy(store_dir: Path, database: Path, temporary: Path, behind: Behind) -> None:
    """Write a copy, where possible over an older snapshot that nobody reads: then only what differs is written."""
    if _cloned(database, temporary):
        return
    newest = current(store_dir)
    for older in reversed(existing_snapshots(store_dir)):
        if older != newest and not in_use(older):
            require_room(store_dir, max(0, database.stat().st_size - older.stat().st_size))
            parts = behind(older)
            older.replace(temporary)
            sync_folder(store_dir)  # after a power loss, too, no snapshot's name leads to a mixture
            if _is_overwritten(temporary, database, parts):
                return
            temporary.replace(older)
    copy(database, temporary)


def _is_overwritten(target: Path, source: Path, parts: Iterable[tuple[int, int]] | None) -> bool:
    """Make a file equal to another one, on disk; False, and nothing written, where somebody has it open.

    Without `parts` all of both files is read: it does not matter then what the file held before.
    """
    if _is_open_here(target):
        return False
    with source.open("rb", buffering=0) as reader, target.open("r+b", buffering=0) as writer:
        try:
            fcntl.lockf(writer, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until it is closed, DuckDB refuses to open it
        except OSError:
            return False
        handles = reader.fileno(), writer.fileno()
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        _overwrite(*handles, sorted(parts or ()))
        if parts is None or not _same_heads(*handles, size):
            _overwrite(*handles, ((offset, _PART_BYTES) for offset in range(0, size, _PART_BYTES)))
        os.fsync(writer.fileno())
    return True


def _overwrite(source: int, target: int, parts: Iterable[tuple[int, int]]) -> None:
    for offset, count in parts:
        wanted = os.pread(source, count, offset)
        if os.pread(target, len(wanted), offset) != wanted:
            os.pwrite(target, wanted, offset)


def _same_heads(source: int, target: int, size: int) -> bool:
    """Tell whether the checksums of all blocks are the same, with which DuckDB begins each."""
    return all(
        os.pread(source, _SUM_BYTES, offset) == os.pread(target, _SUM_BYTES, offset)
        for offset in range(_BLOCKS_FROM, size, _BLOCK_BYTES)
    )


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
    """Tell whether anybody has a database open: DuckDB holds a lock on it, also for reading only.

    It is a lock of `lockf`, which the package filelock does not see: that calls `flock`.
    """
    if _is_open_here(path):
        return True
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _is_open_here(path: Path) -> bool:
    """Tell whether this process has a file open.

    Its own locks do not stop it, and they are lost as soon as it closes the file once, whoever of it had opened that.
    """
    try:
        stat = path.stat()
    except FileNotFoundError:
        return False
    for handle in Path("/dev/fd").iterdir():
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(handle.name)), stat):
                return True
    return False


def _numbers(store_dir: Path) -> list[int]:
    return [int(match[1]) for path in store_dir.iterdir() if (match := _NAME.fullmatch(path.name))]


def copy(source: Path, target: Path) -> None:
    """Share the blocks where the file system can, else copy; either way the copy is on disk when this returns.

    Raises:
        NoRoom: the disk has too little for a copy.
    """
    if _cloned(source, target):
        return
    require_room(target.parent, source.stat().st_size)
    with source.open("rb") as reader, target.open("wb") as writer:
        shutil.copyfileobj(reader, writer, 2**22)
        writer.flush()
        os.fsync(writer.fileno())


def _cloned(source: Path, target: Path) -> bool:
    """Make a copy that shares the blocks, on disk; False where the file system cannot."""
    with source.open("rb") as reader, target.open("wb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        except OSError:
            return False
        os.fsync(writer.fileno())
    return True


RESERVE_BYTES = 2**24


def require_room(folder: Path, bytes_n: int) -> None:
    """Make sure that so much can be written.

    Raises:
        NoRoom: the disk has less.
    """
    if not has_room(folder, bytes_n):
        free = shutil.disk_usage(folder).free
        raise NoRoom(
            f"The disk of {folder} has {free / 2**20:,.0f} MiB free and the index needs "
            f"{(bytes_n + RESERVE_BYTES) / 2**20:,.0f} MiB. Free some space, then ingest again; nothing is lost."
        )


def has_room(folder: Path, bytes_n: int) -> bool:
    """Tell whether so much can be written."""
    return shutil.disk_usage(folder).free >= bytes_n + RESERVE_BYTES


@contextmanager
def full_disk_as_error(folder: Path) -> Iterator[None]:
    """Turn the errors of a disk that is full after all into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _full(folder) from error
    except duckdb.Error as error:  # an IOException, or a TransactionException where it is a commit
        if not is_disk_full(error):
            raise
        raise _full(folder) from error


def is_disk_full(error: duckdb.Error) -> bool:
    """Tell an error of a disk that is full from all others."""
    return "No space left" in str(error)


def _full(folder: Path) -> NoRoom:
    return NoRoom(f"The disk of {folder} is full. Free some space, then ingest again; nothing is lost.")
