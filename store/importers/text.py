"""Lines of JSON, or one JSON array, as objects with their places."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from store.importers.base import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator


class Found(NamedTuple):
    """A JSON object and its place."""

    line_number: int
    byte_offset: int
    value: dict[str, Any]


def objects(file: BinaryIO) -> Iterator[Found | Unreadable]:
    """Give the objects of a file of lines; a file that is one array or one object gives its own, all at line 1.

    NaN and Infinity become None.
    """
    lines = file.readlines()
    whole = _parsed(b"".join(lines)) if _is_one_value(lines) else None
    if whole is not None:
        elements = whole if isinstance(whole, list) else [whole]
        for element in elements:
            yield Found(1, 0, element) if isinstance(element, dict) else Unreadable(1, 0, "an element is no object")
        return
    offset = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            value = _parsed(line)
            if isinstance(value, dict):
                yield Found(number, offset, value)
            else:
                yield Unreadable(number, offset, "not JSON" if value is None else "no JSON object")
        offset += len(line)


def number(value: Any) -> float | None:
    """Return a finite number; None of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _is_one_value(lines: list[bytes]) -> bool:
    """Tell one value over the whole file, perhaps broken over lines, from one a line."""
    first = next((line.strip() for line in lines if line.strip()), b"")
    return first.startswith(b"[") or (first.startswith(b"{") and _parsed(first) is None)


def _parsed(text: bytes) -> Any:
    """Return the value; None where there is none."""
    try:
        return json.loads(text.decode("utf-8"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
