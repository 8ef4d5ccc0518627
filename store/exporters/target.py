"""The target of an export (standard output, a file that is replaced as a whole, or a new folder), and its queries."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import msgspec

from store.errors import UsageError
from store.identity import digest
from store.query import Connection, named

_ROWS = 2000
"""Number of rows that are in memory at a time."""


def rows(con: Connection, query: str, runs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a named query with the parameter `runs`, fetched in batches."""
    cursor = con.cursor()
    try:
        cursor.execute(named(query), {"runs": list(runs)})
        names = [column[0] for column in cursor.description or ()]
        while batch := cursor.fetchmany(_ROWS):
            for row in batch:
                yield dict(zip(names, row, strict=True))
    finally:
        cursor.close()


_NAME_CHARS = 150


class WrittenExport(msgspec.Struct, frozen=True):
    """The number of records of an export, and notes on what its format cannot hold."""

    records_n: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Either `file` is open, or `folder` exists and, unless it grows, is empty."""

    file: BinaryIO | None = None
    folder: Path | None = None


@contextlib.contextmanager
def opened(output: Path | None, *, folder: bool, growing: bool = False) -> Iterator[Target]:
    """Open the target at `output`; a file is replaced only after all of it was written.

    A `growing` folder may hold an earlier export; of another one nothing is left after an error.

    Raises:
        UsageError: the format needs a folder, and the place is not empty; or a file, and the place is a folder.
    """
    if output is None:
        yield Target(file=sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif folder:
        if not growing and output.exists() and not (output.is_dir() and not any(output.iterdir())):
            raise UsageError(f"{output} is not an empty folder; use a new one.")
        existed = output.exists()
        output.mkdir(parents=True, exist_ok=True)
        try:
            yield Target(folder=output)
        except BaseException:
            if not growing:  # else the folder is refused when the command is repeated
                _remove_written(output, keep=existed)
            raise
    elif output.is_dir():
        raise UsageError(f"{output} is a folder; name a file.")
    elif output.exists() and not output.is_file():  # a pipe or device, such as /dev/stdout, which must stay one
        with output.open("wb") as file:
            yield Target(file=file)
    else:
        output = output.resolve()  # a link stays one
        output.parent.mkdir(parents=True, exist_ok=True)
        temporary = output.with_name(f"{output.name}.tmp")
        try:
            with temporary.open("wb") as file:
                yield Target(file=file)
            temporary.replace(output)
        finally:
            temporary.unlink(missing_ok=True)


def _remove_written(folder: Path, *, keep: bool) -> None:
    """Remove what is in a folder that was new or empty, and the folder itself unless it was there before."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not keep:
        folder.rmdir()


def folder_name(run_id: str) -> str:
    """Return the id of a run as the name of one folder; characters that are unsafe in a path are escaped."""
    name = quote(run_id, safe="=+,").replace(".", "%2E")
    return name if 0 < len(name) <= _NAME_CHARS else digest(run_id)
