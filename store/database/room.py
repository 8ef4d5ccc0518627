"""Whether the disk has room for what is going to be written."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb

from store.errors import NoRoom

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RESERVE_BYTES = 2**24


def require(folder: Path, bytes_n: int) -> None:
    """Make sure that so much can be written.

    Raises:
        NoRoom: the disk has less.
    """
    if not is_enough(folder, bytes_n):
        free = shutil.disk_usage(folder).free
        raise NoRoom(
            f"The disk of {folder} has {free / 2**20:,.0f} MiB free and the index needs "
            f"{(bytes_n + RESERVE_BYTES) / 2**20:,.0f} MiB. Free some space, then ingest again; nothing is lost."
        )


def is_enough(folder: Path, bytes_n: int) -> bool:
    """Tell whether so much can be written."""
    return shutil.disk_usage(folder).free >= bytes_n + RESERVE_BYTES


@contextmanager
def full_disk_said(folder: Path) -> Iterator[None]:
    """Turn the errors of a disk that is full after all into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _full(folder) from error
    except duckdb.Error as error:  # an IOException, or a TransactionException where it is a commit
        if not says_full(error):
            raise
        raise _full(folder) from error


def says_full(error: duckdb.Error) -> bool:
    """Tell an error of a disk that is full from all others."""
    return "No space left" in str(error)


def _full(folder: Path) -> NoRoom:
    return NoRoom(f"The disk of {folder} is full. Free some space, then ingest again; nothing is lost.")
