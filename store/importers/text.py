"""JSON as Python's `json` module writes it, with NaN and Infinity; lines of it, or one array, as objects."""

from __future__ import annotations

import io
import json
import math
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from store.errors import Signal
from store.importers.shape import UnreadableLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class NotJson(Signal):
    """Text that is no JSON, or holds what no reader of JSON can keep; the message says why."""


class Read(NamedTuple):
    """A value, and how many numbers of it were not finite and became None."""

    value: Any
    not_finite_n: int


def read(text: bytes) -> Read:
    """Return the value of a text.

    Raises:
        NotJson: it has no value that can be kept.
    """
    found = parse(text)
    require_writable(found.value)
    return found


def parse(text: bytes) -> Read:
    """Return the value of a text, of which parts may be such that they can be written nowhere again.

    Raises:
        NotJson: it has no value.
    """
    seen: list[str] = []
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=seen.append)
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise NotJson("unreadable JSON: nested too deep") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} (byte {error.pos})") from None
    except ValueError:
        raise NotJson("unreadable JSON: an integer has thousands of digits") from None
    return Read(value, len(seen))


def require_writable(value: Any) -> None:
    """Make sure that a value can be written as JSON: half of a surrogate pair cannot, though JSON can hold it.

    Raises:
        NotJson: it cannot.
    """
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise NotJson("JSON that cannot be written back: a text holds half of a surrogate pair") from None
    except RecursionError:
        raise NotJson("unreadable JSON: nested too deep") from None


MOST_BYTES = 2**28
"""Largest file that is one value: it is read as a whole."""
MOST_PARTS = 5_000_000
"""Most parts of one value, about 100 bytes of memory each; files of real numbers have these in 80 MB."""


MOST_OBJECTS = 500_000
"""Most objects or rows of another tool's file: an importer keeps something of each, and real files have thousands."""
_BEFORE_A_PART = (b",", b"[", b"{")


class FoundObject(NamedTuple):
    """A JSON object and its place."""

    line_number: int
    byte_offset: int
    value: dict[str, Any]


def objects(file: BinaryIO) -> Iterator[FoundObject | UnreadableLine]:
    """Give the objects of a file of lines; a file that is one array or one object gives its own, all at line 1.

    NaN and Infinity become None.
    """
    begun = _begin(file)
    lines: Iterable[bytes] = chain(begun, file)
    if _is_one_value(begun):
        data = b"".join([*begun, file.read(MOST_BYTES)])
        if sum(map(data.count, _BEFORE_A_PART)) > MOST_PARTS:
            yield UnreadableLine(1, 0, f"one JSON value of more than {MOST_PARTS:,} parts: write one object per line")
            return
        whole = _parsed(data)
        if whole is not None:
            for element in whole if isinstance(whole, list) else [whole]:
                yield _of_value(1, 0, element)
            return
        lines = chain(io.BytesIO(data), file)
    offset = 0
    for number, line in enumerate(lines, start=1):
        if number > MOST_OBJECTS:
            yield too_many(number, offset)
            return
        if line.strip():
            yield _of_line(number, offset, line)
        offset += len(line)


def too_many(number: int, offset: int) -> UnreadableLine:
    """Return the rejection of what follows the most objects that are read of a file."""
    return UnreadableLine(number, offset, f"not read from here on: more than {MOST_OBJECTS:,} lines; split the file")


def _begin(file: BinaryIO) -> list[bytes]:
    """Return the lines to the first that is not blank."""
    begun: list[bytes] = []
    while (not begun or not begun[-1].strip()) and (line := file.readline()):
        begun.append(line)
    return begun


def _of_line(number: int, offset: int, line: bytes) -> FoundObject | UnreadableLine:
    try:
        return _of_value(number, offset, parse(line).value)
    except NotJson as error:
        return UnreadableLine(number, offset, str(error))


def _of_value(number: int, offset: int, value: Any) -> FoundObject | UnreadableLine:
    if not isinstance(value, dict):
        return UnreadableLine(number, offset, "no JSON object")
    try:
        require_writable(value)
    except NotJson as error:
        return UnreadableLine(number, offset, str(error))
    return FoundObject(number, offset, value)


def number(value: Any) -> float | None:
    """Return a finite number; None of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # an integer beyond every float
        return None
    return found if math.isfinite(found) else None


def _is_one_value(lines: list[bytes]) -> bool:
    """Tell one value over the whole file, perhaps broken over lines, from one a line."""
    first = next((line.strip() for line in lines if line.strip()), b"")
    return first.startswith(b"[") or (first.startswith(b"{") and _parsed(first) is None)


def _parsed(text: bytes) -> Any:
    """Return the value; None where there is none."""
    try:
        return parse(text).value
    except NotJson:
        return None
