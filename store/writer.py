"""The only writer of results.jsonl: it appends whole lines, which are on disk before `append` returns."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from store import advice
from store.errors import WriteFailed, WriterBusy
from store.files import sync_folder
from store.record import Record

_CHUNK_BYTES = 2**16


class ResultsWriter:
    """Append records to a results.jsonl that no other process writes meanwhile.

    Opening it cuts an unterminated last line, which a killed writer left.

    Raises:
        WriterBusy: another process holds the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        existed = self.path.exists()
        self._handle = _locked(self.path)
        try:
            _cut_torn_line(self._handle)
            if not existed:
                sync_folder(self.path.parent)
        except BaseException:
            os.close(self._handle)
            raise

    def append(self, record: Record) -> None:
        """Write a record as one line; it is on disk when this returns.

        A number that is not finite becomes null, and `warnings` of the line says so.

        Raises:
            WriteFailed: the line could not be written whole; the file ends where it did before.
        """
        line = encode(record)
        end = os.fstat(self._handle).st_size
        try:
            _write_all(self._handle, line)
        except OSError as error:
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
            raise WriteFailed(
                f"A record could not be written to {self.path}: {error}. "
                "The file was cut back to its last whole line. Free disk space, then resume the run."
            ) from error

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _write_all(handle: int, line: bytes) -> None:
    """Write with one call, so that a reader never sees half of a line; a short write is an error."""
    written_n = os.write(handle, line)
    if written_n != len(line):
        raise OSError(errno.ENOSPC, f"{written_n} of {len(line)} bytes were written")
    os.fsync(handle)


def encode(record: Record) -> bytes:
    """Return the line of a record, newline included, with null for every number that is not finite."""
    places: list[str] = []
    finite = _finite(msgspec.to_builtins(record), "", places)
    if places:
        finding = advice.finding("not_finite", places=", ".join(places))
        finite["warnings"].append(advice.sentence(finding))
        finite["findings"].append(msgspec.to_builtins(finding))
    return msgspec.json.encode(finite) + b"\n"


def _finite(value: Any, place: str, places: list[str]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        places.append(place)
        return None
    if isinstance(value, dict):
        return {key: _finite(entry, f"{place}.{key}" if place else str(key), places) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry, f"{place}[{index}]", places) for index, entry in enumerate(value)]
    return value


def _locked(path: Path) -> int:
    """Open and lock a file; if `xlabench prune` packed and removed it meanwhile, create it again."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            lock(handle, path)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def lock(handle: int, path: Path) -> None:
    """Lock an open results.jsonl until it is closed.

    The package filelock opens a file of its own for its lock, and some versions of it empty the file that they open.

    Raises:
        WriterBusy: another process holds it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WriterBusy(
            f"Another process is writing {path}. Wait for that run to end, or choose another --output-dirname."
        ) from None


def _cut_torn_line(handle: int) -> None:
    """Cut the bytes after the last newline."""
    size = os.fstat(handle).st_size
    end = _after_last_newline(handle, size)
    if end < size:
        os.ftruncate(handle, end)
        os.fsync(handle)


def _after_last_newline(handle: int, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - _CHUNK_BYTES)
        newline = os.pread(handle, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
