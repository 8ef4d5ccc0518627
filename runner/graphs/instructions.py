"""Split XLA's HLO text into instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_INSTRUCTION = re.compile(r"^\s+(ROOT )?(%?[\w.\-]+) = (.*)$")


@dataclass(frozen=True)
class Instruction:
    """One line of a computation."""

    name: str
    shape: str
    """Type of the result as written, a tuple in parentheses."""
    opcode: str
    rest: str
    """Operands and attributes, from the opening parenthesis on."""
    entry: bool
    """Whether it stands in the module's entry computation."""


def instructions(text: str) -> Iterator[Instruction]:
    """Yield every instruction of every computation of a module."""
    entry = False
    for line in text.splitlines():
        if line.startswith(("ENTRY", "%", "}")):
            entry = line.startswith("ENTRY")
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        shape, call = _split_shape(found[3])
        opcode, bracket, rest = call.partition("(")
        if bracket:
            yield Instruction(found[2], shape, opcode, bracket + rest, entry)


def _split_shape(text: str) -> tuple[str, str]:
    """Return the result's type and what follows it."""
    if not text.startswith("("):
        shape, _, call = text.partition(" ")
        return shape, call
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[: place + 1], text[place + 2 :]
    return text, ""
