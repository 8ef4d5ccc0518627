"""Read whole lines from an offset, a block at a time, so that a line of any length costs bounded memory."""

from __future__ import annotations

import hashlib
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

BLOCK_BYTES = 2**23
MAX_LINE_BYTES = 2**24
"""The longest real records, with hundreds of thousands of blocks, stay under this."""


class Lines(NamedTuple):
    """Whole lines as they stand in a file; `data` ends with the end of the last one."""

    number: int
    """Number of the first line, from 1."""
    offset: int
    """Offset of the first line's first byte."""
    data: bytes
    ends: npt.NDArray[np.int64]
    """Offsets in `data` behind each line's newline."""

    @property
    def end(self) -> int:
        return self.offset + len(self.data)

    @property
    def next_number(self) -> int:
        return self.number + len(self.ends)

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        return np.concatenate((np.zeros(1, np.int64), self.ends[:-1]))


class LongLine(NamedTuple):
    """A line that is too long to be a record; it was read past, not kept."""

    number: int
    offset: int
    end: int
    sha256: str


def lines_from(file: BinaryIO, offset: int, number: int) -> Iterator[Lines | LongLine]:
    """Yield what follows an offset, where the file stands; an unterminated last line is left for later."""
    blocks = iter(partial(file.read, BLOCK_BYTES), b"")
    begun = b""
    while block := next(blocks, b""):
        end = block.rfind(b"\n") + 1
        if end:
            found = _lines(b"".join((begun, memoryview(block)[:end])), offset, number)
            yield found
            offset, number, begun = found.end, found.next_number, block[end:]
            continue
        begun += block
        if len(begun) > MAX_LINE_BYTES:
            long, tail = _past(blocks, begun, offset, number)
            if long is None:
                return
            yield long
            offset, number, begun = long.end, number + 1, b""
            blocks = chain([tail] if tail else [], blocks)


def _lines(data: bytes, offset: int, number: int) -> Lines:
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")).astype(np.int64) + 1
    return Lines(number, offset, data, ends)


def _past(blocks: Iterator[bytes], begun: bytes, offset: int, number: int) -> tuple[LongLine | None, bytes]:
    """Read to the end of a line that began with `begun`; no line where it has no end yet."""
    sha, length = hashlib.sha256(begun), len(begun)
    for block in blocks:
        part, newline, tail = block.partition(b"\n")
        sha.update(part)
        length += len(part) + len(newline)
        if newline:
            return LongLine(number, offset, offset + length, sha.hexdigest()), tail
    return None, b""
