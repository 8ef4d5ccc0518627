"""What an importer is: it knows its files by their beginning and gives their content as records of our shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

HEAD_BYTES = 2**16
"""How much of a file's beginning `recognises` is shown."""


class Imported(NamedTuple):
    """A record in the shape of our own lines, and where it stands; `line_number` counts from 1.

    In a format without lines both places count its rows.
    """

    line_number: int
    byte_offset: int
    record: dict[str, Any]


class Unreadable(NamedTuple):
    """A line that gives no record, and why."""

    line_number: int
    byte_offset: int
    reason: str


class BadObject(Exception):
    """A part of a file that gives no record; the message says why."""


def guarded(
    line_number: int, byte_offset: int, make: Callable[[], Iterable[Imported | Unreadable]]
) -> Iterator[Imported | Unreadable]:
    """Give what `make` makes of one object; one that it stumbles over is given as unreadable.

    Another tool's file may hold anything anywhere, and none of it may keep the rest from being read.
    """
    try:
        found = list(make())
    except BadObject as error:
        found = [Unreadable(line_number, byte_offset, str(error))]
    except Exception as error:  # noqa: BLE001 (whatever it is, the object is of no form that is known)
        found = [Unreadable(line_number, byte_offset, f"not in a known form: {error!r}")]
    yield from found


class Importer(Protocol):
    """One foreign format. A file of it that changed is read again as a whole."""

    name: str
    """What `source` of its records says, and the file's kind in the index."""
    suffixes: tuple[str, ...]
    """Which files of a folder are looked at; one that is named itself always is."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Tell whether a file that begins with `head` is of this format."""
        ...

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | Unreadable]:
        """Give the records of an open file; a bad line is given as such and does not end it."""
        ...
