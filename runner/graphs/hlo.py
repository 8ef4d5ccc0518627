"""Read XLA's HLO text: operations, fusions, and a fingerprint that ignores names and source locations."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

from runner.graphs import hlo_cost
from runner.graphs.instructions import instructions
from store.record import Graph

NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
"""Instructions that compute nothing; they are no operations."""

_NAME = re.compile(r"%[\w.\-]+")
_METADATA = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
_ARGUMENT = re.compile(r"[\w.\-]+: ")
_MODULE = re.compile(r"^HloModule [^,\s]+")
_DIGEST_BYTES = 16


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
