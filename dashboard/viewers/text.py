"""Long texts: a page of lines, the lines around the words of a search, and two programs side by side."""

from __future__ import annotations

import gzip
import re
import time
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

PAGE_LINES = 400
LONGEST_LINE = 2_000
"""Largest number of shown characters of a line, as weights written as text make lines of megabytes."""
MOST_HITS = 200
MOST_READ = 512 * 2**20
"""Largest number of unpacked bytes that a search reads; the whole file can be downloaded."""
MOST_S = 10.0
"""Time limit of a search or a page in seconds, because a small packed file may contain any number of empty lines."""
MOST_TAIL = 200_000
AROUND = 2


@dataclass(frozen=True)
class Part:
    """The shown lines of a text."""

    text: str
    first: int
    """Number of the first line, from 1."""
    more: bool
    """Whether more lines follow."""


@dataclass(frozen=True)
class Hits:
    """Result of a search."""

    text: str
    lines_n: int
    """Number of lines that contain the words; the search stops after `MOST_HITS`."""
    whole: bool
    """Whether the search reached the end of the file."""


def page(path: Path, number: int, lines: int = PAGE_LINES) -> Part:
    """Return a page of a text, counted from 0."""
    start = number * lines
    with _Limited(path) as stream:
        page_lines = list(islice(_lines(stream), start, start + lines + 1))
    return Part("\n".join(page_lines[:lines]), start + 1, len(page_lines) > lines)


def search(path: Path, words: str) -> Hits:
    """Return the numbered lines that contain the words in any case, with two lines before and after each."""
    needle = words.casefold()
    before: deque[tuple[int, str]] = deque(maxlen=AROUND)
    output: list[str] = []
    hits, after, last, complete = 0, 0, 0, False
    with _Limited(path) as stream:
        for number, line in enumerate(_lines(stream), start=1):
            matches = needle in line.casefold()
            if matches and hits == MOST_HITS:
                break
            if matches:
                if last and number - len(before) > last + 1:
                    output.append("…")
                output += [_numbered(*entry) for entry in before]
                before.clear()
                hits, after = hits + 1, AROUND
            if matches or after:
                output.append(_numbered(number, line))
                after, last = after if matches else after - 1, number
            else:
                before.append((number, line))
        else:
            complete = stream.exhausted
    return Hits("\n".join(output), hits, complete)


def last_lines(path: Path, lines: int = 60) -> str:
    """Return the end of a plain text, such as a log."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - MOST_TAIL))
        text = stream.read().decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:])


class _Limited:
    """A stream that ends after `MOST_READ` bytes, and records whether it reached the end of the file."""

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
        """Return the next line, or a piece of a very long one; empty at the end, and if the file is damaged."""
        if not self._left or time.monotonic() > self._until:
            return b""
        try:
            data = self._stream.readline(min(self._left, 2**20))
        except (OSError, EOFError, zlib.error):
            return b""
        self._left -= len(data)
        self.exhausted = not data and self._left > 0
        return data


def _lines(stream: _Limited) -> Iterator[str]:
    """Yield lines without their line ends, cut to a limit; pieces of a very long line count as one line."""
    data = b""
    while piece := stream.line():
        data = data + piece if len(data) < LONGEST_LINE else data + piece[-1:]
        if piece.endswith(b"\n"):
            yield _display_text(data)
            data = b""
    if data:
        yield _display_text(data)


def _display_text(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} … (line cut)"


def _numbered(number: int, line: str) -> str:
    return f"{number:>7}  {line}"


MOST_COMPARED = 3000
"""Largest number of aligned lines of each text, since the time grows with their product."""
AROUND_DIFFERENCES = 3
"""Number of common lines that stay visible before and after a difference."""
_LONGEST = 300
_NUMBER = re.compile(r"(?<=[A-Za-z_])[.]?\d+\b|0x[0-9a-f]+")
"""Numbers that compilers append to names; programs that differ only in them are equal."""


class DifferenceBlock(NamedTuple):
    """Corresponding lines of A and of B."""

    same: bool
    a: Sequence[str]
    b: Sequence[str]


def first_lines(path: Path) -> tuple[list[str], bool]:
    """Return the first lines of a file, and whether there are more."""
    part = page(path, 0, MOST_COMPARED)
    return part.text.split("\n"), part.more


def differences(a: Sequence[str], b: Sequence[str]) -> list[DifferenceBlock]:
    """Align two texts by their lines without the numbers in names."""
    plain_a, plain_b = ([_NUMBER.sub("", line) for line in side] for side in (a, b))
    opcodes = SequenceMatcher(None, plain_a, plain_b, autojunk=False).get_opcodes()
    return [DifferenceBlock(kind == "equal", a[a1:a2], b[b1:b2]) for kind, a1, a2, b1, b2 in opcodes]


def side_by_side(aligned: Sequence[DifferenceBlock]) -> str:
    """Return both sides in two columns as HTML with escaped lines; a click opens folded lines."""
    parts: list[str] = []
    for position, block in enumerate(aligned):
        if not block.same:
            parts.append(_pair(block.a, block.b, "differs"))
            continue
        head = AROUND_DIFFERENCES if position else 0
        tail = AROUND_DIFFERENCES if position < len(aligned) - 1 else 0
        if len(block.a) <= head + tail + 1:
            parts.append(_pair(block.a, block.b))
            continue
        end = len(block.a) - tail
        parts += [_pair(block.a[:head], block.b[:head]), _folded(block.a[head:end], block.b[head:end])]
        parts.append(_pair(block.a[end:], block.b[end:]))
    return f'<div class="xl-diff">{"".join(parts)}</div>'


def _folded(a: Sequence[str], b: Sequence[str]) -> str:
    return f"<details><summary>{len(a):,} lines are the same</summary>{_pair(a, b)}</details>"


def _pair(a: Sequence[str], b: Sequence[str], look: str = "") -> str:
    if not a and not b:
        return ""
    return f'<div class="xl-pair {look}">{_side(a, "A", look)}{_side(b, "B", look)}</div>'


def _side(side: Sequence[str], name: str, look: str) -> str:
    sign = {"A": "- ", "B": "+ "}[name] if look else "  "
    return f"<pre>{escape(chr(10).join(sign + line[:_LONGEST] for line in side))}</pre>"
