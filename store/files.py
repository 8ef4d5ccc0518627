"""Write files so that they survive a power loss, open compressed ones, and read files of queries."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from store.errors import Signal

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
"""Line above each query of a file."""


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk; that some network file systems refuse this is no error."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers see the old or the new content, also after a crash.

    Raises:
        IsADirectoryError: a folder has the file's name.
        OSError: it cannot be written, as on a full disk; nothing of it stays.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)
    sync_folder(path.parent)


COMPRESSED_SUFFIXES = (".gz", ".zst")
MOST_RATIO = 250
"""Largest ratio of compression: results shrink to about a tenth, and only crafted files exceed this."""
SMALL_BYTES = 2**20
"""Files of less than this unpacked may have any ratio."""


class TooLargeFile(Signal, OSError):
    """A compressed file that unpacks to more than a real one of its size."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it unpacks to more than {most:,} bytes, which is more than a file of its size can hold")


DAMAGED = (EOFError, OSError, zlib.error)
"""Exceptions of reading a file that is cut, not compressed as its name says, or too large."""


def is_compressed(path: Path) -> bool:
    """Tell whether a file is compressed, by its name."""
    return path.suffix in COMPRESSED_SUFFIXES


def uncompressed_path(path: Path) -> Path:
    """Return the path of a file without the suffix of its compression."""
    return path.with_suffix("") if is_compressed(path) else path


def most_bytes(packed_bytes: int) -> int:
    """Return the largest unpacked size of a file of `packed_bytes` bytes."""
    return SMALL_BYTES + MOST_RATIO * packed_bytes


def unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    """Return the unpacked content of an open file as a stream, which raises `TooLargeFile` past the limit."""
    if path.suffix == ".gz":
        return _bounded(cast("BinaryIO", gzip.GzipFile(fileobj=file)), file)
    if path.suffix == ".zst":
        import pyarrow as pa  # noqa: PLC0415 (the runner imports this module, and its files are plain)

        return _bounded(cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")), file)
    return file


def _bounded(stream: BinaryIO, packed: BinaryIO) -> BinaryIO:
    raw = _Bounded(stream, most_bytes(os.fstat(packed.fileno()).st_size))
    return cast("BinaryIO", io.BufferedReader(raw, buffer_size=2**20))


_PART_BYTES = 2**13
"""Bytes that are unpacked at a time: with an error, what was read with it is lost."""


class _Bounded(io.RawIOBase):
    """A stream that raises `TooLargeFile` after `most` bytes; what comes before an error is read first."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most, self._given = stream, most, 0
        self._error: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view, filled = memoryview(buffer), 0
        while filled < len(view) and (data := self._part(min(_PART_BYTES, len(view) - filled))):
            view[filled : filled + len(data)] = data
            filled += len(data)
        if self._error and not filled:
            raise self._error
        return filled

    def _part(self, most: int) -> bytes:
        """Return the next bytes; none at the end, or before an error."""
        if self._error:
            return b""
        try:
            data = self._stream.read(most)
        except DAMAGED as error:
            self._error = error
            return b""
        self._given += len(data)
        if self._given > self._most:
            self._error = TooLargeFile(self._most)
            return b""
        return data


@cache
def queries_of(folder: Path) -> dict[str, str]:
    """Return the SQL in the files of a folder by name."""
    return {name: text for path in sorted(folder.glob("*.sql")) for name, text in queries_in(path).items()}


def queries_in(path: Path) -> dict[str, str]:
    """Return the SQL in a file by name: a file has the queries of a subject, each below its name."""
    _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
    return {name: text.strip("\n") + "\n" for name, text in zip(parts[::2], parts[1::2], strict=True)}
