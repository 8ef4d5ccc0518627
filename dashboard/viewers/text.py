"""Long texts: one page of lines, or the lines that hold what a reader searches for, with what stands around them."""

from __future__ import annotations

import gzip
import time
import zlib
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE_LINES = 400
LONGEST_LINE = 2_000
"""Characters of a line that are shown: weights written as text make lines of megabytes."""
MOST_HITS = 200
MOST_READ = 512 * 2**20
"""Bytes that a search reads, unpacked; the whole file can still be downloaded."""
MOST_S = 10.0
"""Seconds that a search, or the way to a page, may take: packed, a file of empty lines has any number of them."""
AROUND = 2


@dataclass(frozen=True)
class Part:
    """Lines of a text, as they are shown."""

    text: str
    first: int
    """Number of the first line, from 1."""
    more: bool
    """Whether there is more after them."""


@dataclass(frozen=True)
class Hits:
    """What a search found."""

    text: str
    lines_n: int
    """Lines that hold the words; no more are looked for past `MOST_HITS`."""
    whole: bool
    """Whether the search came to the end of the file."""


def page(path: Path, number: int, lines: int = PAGE_LINES) -> Part:
    """Return a page of a text, counted from 0."""
    start = number * lines
    with _opened(path) as stream:
        found = list(islice(_lines(stream), start, start + lines + 1))
    return Part("\n".join(found[:lines]), start + 1, len(found) > lines)


def search(path: Path, words: str) -> Hits:
    """Return the lines that hold the words, whatever their case, with two lines around each and their numbers."""
    wanted = words.casefold()
    before: deque[tuple[int, str]] = deque(maxlen=AROUND)
    shown: list[str] = []
    hits, after, last, whole = 0, 0, 0, False
    with _opened(path) as stream:
        for number, line in enumerate(_lines(stream), start=1):
            found = wanted in line.casefold()
            if found and hits == MOST_HITS:
                break
            if found:
                if last and number - len(before) > last + 1:
                    shown.append("…")
                shown += [_numbered(*each) for each in before]
                before.clear()
                hits, after = hits + 1, AROUND
            if found or after:
                shown.append(_numbered(number, line))
                after, last = after if found else after - 1, number
            else:
                before.append((number, line))
        else:
            whole = stream.exhausted
    return Hits("\n".join(shown), hits, whole)


def last_lines(path: Path, lines: int = 60, most_bytes: int = 200_000) -> str:
    """Return the end of a plain text, as of a log."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - most_bytes))
        text = stream.read().decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:])


class _Limited:
    """A stream that ends after `MOST_READ` bytes, and says whether that was the file's own end."""

    def __init__(self, path: Path) -> None:
        self._stream = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115 - closed below
        self._left = MOST_READ
        self._until = time.monotonic() + MOST_S
        self.exhausted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def line(self) -> bytes:
        """Return the next line, or a piece of it where it is very long; nothing at the end, or where it is damaged."""
        if not self._left or time.monotonic() > self._until:
            return b""
        try:
            found = self._stream.readline(min(self._left, 2**20))
        except (OSError, EOFError, zlib.error):
            return b""
        self._left -= len(found)
        self.exhausted = not found and self._left > 0
        return found


def _opened(path: Path) -> _Limited:
    return _Limited(path)


def _lines(stream: _Limited) -> Iterator[str]:
    """Yield lines without their ends, each cut; the pieces of a very long line count as one."""
    held = b""
    while piece := stream.line():
        held = held + piece if len(held) < LONGEST_LINE else held + piece[-1:]
        if piece.endswith(b"\n"):
            yield _shown(held)
            held = b""
    if held:
        yield _shown(held)


def _shown(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} … (line cut)"


def _numbered(number: int, line: str) -> str:
    return f"{number:>7}  {line}"
