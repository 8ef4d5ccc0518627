"""Files: written so that they survive a power loss, and opened compressed or not."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from store.errors import Signal

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import WriteableBuffer


def sync_folder(folder: Path) -> None:
    """Put the entries of a folder on disk; some network file systems refuse, which is no error."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file as a whole: a reader, or a crash, meets the old content or the new.

    Raises:
        IsADirectoryError: a folder has the file's name.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


COMPRESSED_SUFFIXES = (".gz", ".zst")
MOST_RATIO = 250
"""Results shrink to a tenth or so; only what was made for it shrinks more than this."""
SMALL_BYTES = 2**20
"""A file that has less than this unpacked may shrink to anything."""


class TooLargeFile(Signal, OSError):
    """A file that stands for more than can have been put into it."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it unpacks to more than {most:,} bytes, which is more than a file of its size can hold")


DAMAGED = (EOFError, OSError, zlib.error)
"""What reading a compressed file that is cut, no such file, or too large raises."""


def is_compressed(path: Path) -> bool:
    """Tell a compressed file by its name."""
    return path.suffix in COMPRESSED_SUFFIXES


def uncompressed_path(path: Path) -> Path:
    """Return what a file is called unpacked."""
    return path.with_suffix("") if is_compressed(path) else path


def most_bytes(packed_bytes: int) -> int:
    """Return how much a file of so many bytes may stand for."""
    return SMALL_BYTES + MOST_RATIO * packed_bytes


def unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    """Return the content of an open file as a stream, which raises `TooLargeFile` where it would not end."""
    if path.suffix == ".gz":
        return _bounded(cast("BinaryIO", gzip.GzipFile(fileobj=file)), file)
    if path.suffix == ".zst":
        import pyarrow as pa  # noqa: PLC0415 (the runner imports this module, and its files are plain)

        return _bounded(cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")), file)
    return file


def _bounded(stream: BinaryIO, packed: BinaryIO) -> BinaryIO:
    raw = _Bounded(stream, most_bytes(os.fstat(packed.fileno()).st_size))
    return cast("BinaryIO", io.BufferedReader(raw, buffer_size=2**20))


class _Bounded(io.RawIOBase):
    """A stream that may give so many bytes."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most, self._given = stream, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        self._given += len(data)
        if self._given > self._most:
            raise TooLargeFile(self._most)
        view[: len(data)] = data
        return len(data)
