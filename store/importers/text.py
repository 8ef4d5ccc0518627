"""Read the rows of a CSV, and JSON as Python's `json` module writes it, with NaN and Infinity.

A file of JSON is lines of objects, or one array.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import msgspec

from store.errors import Signal
from store.importers.shape import BadObject, Imported, UnreadableLine, guarded


class NotJson(Signal):
    """The text is no JSON, or its value cannot be stored; the message says why."""


class JsonValue(NamedTuple):
    """A value, and how many of its numbers were not finite and became None."""

    value: Any
    not_finite_n: int


def read(text: bytes) -> JsonValue:
    """Return the value of a text.

    Raises:
        NotJson: it has no value that can be stored.
    """
    parsed = parse(text)
    require_writable(parsed.value)
    return parsed


def parse(text: bytes) -> JsonValue:
    """Return the value of a text; it may contain parts that cannot be written as JSON again.

    Raises:
        NotJson: it has no value.
    """
    not_finite: list[str] = []
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=not_finite.append)
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise NotJson("unreadable JSON: nested too deep") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} (byte {error.pos})") from None
    except ValueError:
        raise NotJson("unreadable JSON: an integer has thousands of digits") from None
    return JsonValue(value, len(not_finite))


def require_writable(value: Any) -> None:
    """Check that a value can be written as JSON: half of a surrogate pair cannot, though JSON can hold it.

    Raises:
        NotJson: the value cannot be written.
    """
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise NotJson("JSON that cannot be written back: a text contains half of a surrogate pair") from None
    except RecursionError:
        raise NotJson("unreadable JSON: nested too deep") from None


MOST_BYTES = 2**28
"""Largest file that is one value, in bytes, because it is read as a whole."""
MOST_PARTS = 5_000_000
"""Largest number of parts of one value, about 100 bytes of memory each; files of real numbers reach it at 80 MB."""


MOST_OBJECTS = 500_000
"""Largest number of objects or rows of another tool's file, of which an importer stores something of each."""
_BEFORE_A_PART = (b",", b"[", b"{")


class PlacedObject(NamedTuple):
    """A JSON object and its place."""

    line_number: int
    byte_offset: int
    value: dict[str, Any]


def objects(file: BinaryIO) -> Iterator[PlacedObject | UnreadableLine]:
    """Yield the objects of a file of lines; those of a file that is one array or one object are all at line 1.

    NaN and Infinity become None.
    """
    begun = _begin(file)
    lines: Iterable[bytes] = chain(begun, file)
    if _is_one_value(begun):
        data = b"".join([*begun, file.read(MOST_BYTES)])
        if sum(map(data.count, _BEFORE_A_PART)) > MOST_PARTS:
            yield UnreadableLine(1, 0, f"one JSON value of more than {MOST_PARTS:,} parts: write one object per line")
            return
        value = _parsed(data)
        if value is not None:
            for element in value if isinstance(value, list) else [value]:
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


class BadRow(BadObject):
    """The row gives no record; the message says why."""


def headings(head: bytes) -> list[str]:
    """Return the headings of a CSV that begins with `head`, to recognise it by; a name with a comma is cut."""
    return head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")


def records_of_rows(
    file: BinaryIO, first_line: bytes, make: Callable[[int, dict[str, str]], Iterable[dict[str, Any]]]
) -> Iterator[Imported | UnreadableLine]:
    """Yield the records of a CSV: `make` returns those of a row, from its number and its cells by their headings.

    A row of which `make` raises `BadRow` is an unreadable line, as is one that is no CSV.
    """
    try:
        header = cells(first_line)
    except BadRow as error:
        yield UnreadableLine(1, 0, str(error))
        return
    for number, offset, line in rows(file, len(first_line)):
        if number > MOST_OBJECTS:
            yield too_many(number, offset)
            return
        yield from guarded(number, offset, partial(_made, make, number, header, line))


def _made(
    make: Callable[[int, dict[str, str]], Iterable[dict[str, Any]]], number: int, header: list[str], line: bytes
) -> Iterable[dict[str, Any]]:
    return make(number, row_of(header, line))


def rows(file: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and text of each line after the first, one at a time: a small file may unpack to many."""
    for number, line in enumerate(file, start=2):
        if line.strip() or number > MOST_OBJECTS:  # empty lines count, too: their reader ends there
            yield number, offset, line
        offset += len(line)


def cells(line: bytes) -> list[str]:
    """Return the cells of a row of a CSV.

    Raises:
        BadRow: it is no CSV.
    """
    try:
        return next(csv.reader([line.decode("utf-8").strip("\r\n")], strict=True), [])
    except UnicodeDecodeError as error:
        raise BadRow(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except csv.Error as error:
        raise BadRow(f"not CSV: {error}") from None


def row_of(header: list[str], line: bytes) -> dict[str, str]:
    """Return the cells of a row by their headings; those that a short row lacks are absent.

    Raises:
        BadRow: it is no CSV, or has more cells than headings, as where a number has a decimal comma.
    """
    row = cells(line)
    if len(row) > len(header):
        raise BadRow(f"{len(row)} cells for {len(header)} headings")
    return dict(zip(header, row, strict=False))


def _begin(file: BinaryIO) -> list[bytes]:
    """Return the lines to the first that is not blank."""
    begun: list[bytes] = []
    while (not begun or not begun[-1].strip()) and (line := file.readline()):
        begun.append(line)
    return begun


def _of_line(number: int, offset: int, line: bytes) -> PlacedObject | UnreadableLine:
    try:
        return _of_value(number, offset, parse(line).value)
    except NotJson as error:
        return UnreadableLine(number, offset, str(error))


def _of_value(number: int, offset: int, value: Any) -> PlacedObject | UnreadableLine:
    if not isinstance(value, dict):
        return UnreadableLine(number, offset, "no JSON object")
    try:
        require_writable(value)
    except NotJson as error:
        return UnreadableLine(number, offset, str(error))
    return PlacedObject(number, offset, value)


MOST = 1e30
"""No number of a record is larger; their squares, and the sums of a store, fit into a DOUBLE."""


def number(value: Any) -> float | None:
    """Return a number that a record may have; None of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        as_float = float(value)
    except OverflowError:  # an integer beyond every float
        return None
    return as_float if abs(as_float) <= MOST else None  # NaN is not


def _is_one_value(lines: list[bytes]) -> bool:
    """Tell whether the file is one value, perhaps broken over lines, and not one value per line."""
    first = next((line.strip() for line in lines if line.strip()), b"")
    return first.startswith(b"[") or (first.startswith(b"{") and _parsed(first) is None)


def _parsed(text: bytes) -> Any:
    """Return the value of a text; None if it is no JSON."""
    try:
        return parse(text).value
    except NotJson:
        return None
