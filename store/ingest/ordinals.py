"""Count equal foreign records, so that two truly equal ones in a file stay two."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, BinaryIO

from store.ingest.decode import BadLine, decode
from store.ingest.foreign import content_of, is_foreign
from store.ingest.lines import Lines, lines_from

if TYPE_CHECKING:
    from pathlib import Path


class Ordinals:
    """How many records of a content stand before a place in a file; reads what lies before it only when asked."""

    def __init__(self, path: Path, consumed: int) -> None:
        self._path = path
        self._consumed = consumed
        self._seen: Counter[str] | None = None

    def take(self, content: str) -> int:
        """Return the ordinal of the next record of this content, from 0."""
        if self._seen is None:
            self._seen = self._before()
        self._seen[content] += 1
        return self._seen[content] - 1

    def _before(self) -> Counter[str]:
        if not self._consumed:
            return Counter()
        with self._path.open("rb") as file:
            return _count(file, self._consumed)


def _count(file: BinaryIO, end: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for lines in lines_from(file, 0, 1):
        if lines.offset >= end:
            break
        if isinstance(lines, Lines):
            seen.update(_contents(lines, end))
    return seen


def _contents(lines: Lines, end: int) -> list[str]:
    found = []
    for start, behind in zip(lines.starts, lines.ends, strict=True):
        if lines.offset + start >= end:
            break
        try:
            line = decode(lines.data[start:behind].rstrip(b"\r\n"))
        except BadLine:
            continue
        if is_foreign(line):
            found.append(content_of(line))
    return found
