"""Count equal foreign records, so that two truly equal ones in a file stay two."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, BinaryIO

from store.ingest.decode import BadLine, decode
from store.ingest.rows import content_of, is_foreign
from store.ingest.tail import lines_from

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
            with self._path.open("rb") as file:
                self._seen = _count(file, self._consumed)
        self._seen[content] += 1
        return self._seen[content] - 1


def _count(file: BinaryIO, end: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for raw in lines_from(file, 0, 0):
        if raw.offset >= end:
            break
        try:
            line = decode(raw.data)
        except BadLine:
            continue
        if is_foreign(line.record):
            seen[content_of(line)] += 1
    return seen
