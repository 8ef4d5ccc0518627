"""Lines of JSON, or one JSON array, as objects with their places."""

from __future__ import annotations

import io
import math
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from store import lenient
from store.importers.base import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MOST_BYTES = 2**28
"""Largest file that is one value: it is read as a whole."""


class Found(NamedTuple):
    """A JSON object and its place."""

    line_number: int
    byte_offset: int
    value: dict[str, Any]


def objects(file: BinaryIO) -> Iterator[Found | Unreadable]:
    """Give the objects of a file of lines; a file that is one array or one object gives its own, all at line 1.

    NaN and Infinity become None.
    """
    begun = _begin(file)
    lines: Iterable[bytes] = chain(begun, file)
    if _is_one_value(begun):
        data = b"".join([*begun, file.read(MOST_BYTES)])
        whole = _parsed(data)
        if whole is not None:
            for element in whole if isinstance(whole, list) else [whole]:
                yield _of_value(1, 0, element)
            return
        lines = chain(io.BytesIO(data), file)
    offset = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _of_line(number, offset, line)
        offset += len(line)


def _begin(file: BinaryIO) -> list[bytes]:
    """Return the lines to the first that is not blank."""
    begun: list[bytes] = []
    while (not begun or not begun[-1].strip()) and (line := file.readline()):
        begun.append(line)
    return begun


def _of_line(number: int, offset: int, line: bytes) -> Found | Unreadable:
    try:
        return _of_value(number, offset, lenient.parse(line).value)
    except lenient.NotJson as error:
        return Unreadable(number, offset, str(error))


def _of_value(number: int, offset: int, value: Any) -> Found | Unreadable:
    if not isinstance(value, dict):
        return Unreadable(number, offset, "no JSON object")
    try:
        lenient.require_writable(value)
    except lenient.NotJson as error:
        return Unreadable(number, offset, str(error))
    return Found(number, offset, value)


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
        return lenient.parse(text).value
    except lenient.NotJson:
        return None
