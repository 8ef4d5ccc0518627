"""Two aligned texts of a program: common lines are folded, and different lines are side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import NamedTuple

from dashboard.viewers import text

MOST_LINES = 3000
"""Largest number of aligned lines of each text, since the time grows with their product."""
AROUND = 3
"""Number of common lines that stay visible before and after a difference."""
_LONGEST = 300
_NUMBER = re.compile(r"(?<=[A-Za-z_])[.]?\d+\b|0x[0-9a-f]+")
"""Numbers that compilers append to names; programs that differ only in them are equal."""


class DifferenceBlock(NamedTuple):
    """Corresponding lines of A and of B."""

    same: bool
    a: Sequence[str]
    b: Sequence[str]


def lines(path: Path) -> tuple[list[str], bool]:
    """Return the first lines of a file, and whether there are more."""
    part = text.page(path, 0, MOST_LINES)
    return part.text.split("\n"), part.more


def blocks(a: Sequence[str], b: Sequence[str]) -> list[DifferenceBlock]:
    """Align two texts by their lines without the numbers in names."""
    plain_a, plain_b = ([_NUMBER.sub("", line) for line in side] for side in (a, b))
    opcodes = SequenceMatcher(None, plain_a, plain_b, autojunk=False).get_opcodes()
    return [DifferenceBlock(kind == "equal", a[a1:a2], b[b1:b2]) for kind, a1, a2, b1, b2 in opcodes]


def as_html(aligned: Sequence[DifferenceBlock]) -> str:
    """Return both sides in two columns as HTML with escaped lines; a click opens folded lines."""
    parts: list[str] = []
    for position, block in enumerate(aligned):
        if not block.same:
            parts.append(_pair(block.a, block.b, "differs"))
            continue
        head = AROUND if position else 0
        tail = AROUND if position < len(aligned) - 1 else 0
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
