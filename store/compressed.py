"""Open a file of results, compressed or not."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".gz", ".zst")
DAMAGED = (EOFError, OSError, zlib.error)
"""What reading a compressed file that is cut or no such file raises."""


def is_compressed(path: Path) -> bool:
    """Tell a compressed file by its name."""
    return path.suffix in SUFFIXES


def plain(path: Path) -> Path:
    """Return what a file is called unpacked."""
    return path.with_suffix("") if is_compressed(path) else path


def unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    """Return the content of an open file as a stream."""
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if path.suffix == ".zst":
        return cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd"))
    return file
