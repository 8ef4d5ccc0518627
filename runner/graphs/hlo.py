"""Read XLA's HLO text: operations, fusions, and a fingerprint that ignores names and source locations."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.graphs import hlo_cost
from store.record import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
"""Instructions that compute nothing; they are no operations."""

_INSTRUCTION = re.compile(r"^\s+(ROOT )?(%?[\w.\-]+) = (.*)$")
_NAME = re.compile(r"%[\w.\-]+")
_METADATA = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
_ARGUMENT = re.compile(r"[\w.\-]+: ")
_MODULE = re.compile(r"^HloModule [^,\s]+")
_DIGEST_BYTES = 16


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


def fingerprint(text: str) -> str:
    """Return a hash of the program: names are numbered in their order, the module's name and metadata left out."""
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"%{len(numbers)}")

    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for line in text.splitlines():
        kept = _MODULE.sub("HloModule", _METADATA.sub("", line))
        if line.startswith(("ENTRY", "%")):
            kept = _ARGUMENT.sub("", kept)
        digest.update(_NAME.sub(numbered, kept).encode() + b"\n")
    return digest.hexdigest()


def graph(text: str, kind: str) -> Graph:
    """Describe one module; operations inside fusions and reductions count, each where it is written."""
    lines = list(instructions(text))
    histogram = Counter(line.opcode for line in lines if line.opcode not in NO_WORK)
    return Graph(
        kind=kind,
        fingerprint=fingerprint(text),
        ops=sum(histogram.values()),
        op_histogram=dict(sorted(histogram.items())),
        fusions=histogram["fusion"] if kind == "hlo_optimized" else None,
        flops=hlo_cost.flops(lines),
        bytes_accessed=hlo_cost.bytes_accessed(lines) if kind == "hlo_optimized" else None,
    )
