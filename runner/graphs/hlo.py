"""Read XLA's HLO text: operations, fusions, and a fingerprint that ignores names and source locations."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from store.record import Graph

# FLOPs and bytes by the rules of XLA's own cost analysis, which PyTorch/XLA does not hand out. FLOPs are those of
# matrix products and convolutions, which are nearly all of them; bytes are what the instructions of the entry
# computation read and write, a fusion counting as one.

_SHAPE = re.compile(r"\b([a-z]+\d*[a-z0-9]*)\[([\d,<=]*)\]")
_BITS = re.compile(r"\d+")
_CONTRACTING = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->(\w+)")
_WINDOW = re.compile(r"window=\{([^}]*)\}")
_GROUPS = re.compile(r"(?:feature|batch)_group_count=(\d+)")
_HIDING = frozenset({"custom-call", "while", "conditional"})
"""Work that the text does not show: a library's product, or a body that runs an unknown number of times."""


def flops(lines: Sequence[Instruction]) -> float | None:
    """Return floating-point operations of products and convolutions; None where the text hides some."""
    if any(line.opcode in _HIDING for line in lines):
        return None
    shapes = {line.name: line.shape for line in lines}
    return float(sum(_flops(line, shapes) for line in lines))


def _flops(line: Instruction, shapes: dict[str, str]) -> int:
    """Two per product: one multiplication, one addition."""
    if line.opcode not in {"dot", "convolution"}:
        return 0
    left, right = (_dimensions(shapes[name]) for name in _operands(line)[:2])
    result = math.prod(_dimensions(line.shape))
    if line.opcode == "dot":
        match = _CONTRACTING.search(line.rest)
        axes = [int(axis) for axis in match[1].split(",") if axis] if match else []
        return 2 * result * math.prod(left[axis] for axis in axes)
    return 2 * _products(line, left, right)


def _products(line: Instruction, left: list[int], right: list[int]) -> int:
    """Return the multiplications of a convolution; window positions in padding or dilation cost none."""
    labels = _LABELS.search(line.rest)
    if labels is None:
        return 0
    of_input, of_kernel, of_output = labels.groups()
    result = _dimensions(line.shape)
    match = _WINDOW.search(line.rest)
    window = dict(part.split("=") for part in match[1].split() if "=" in part) if match else {}
    groups = math.prod(int(count) for count in _GROUPS.findall(line.rest))
    products = left[of_input.index("b")] * left[of_input.index("f")] * right[of_kernel.index("o")] // groups
    for axis in range(len(left) - 2):
        sizes = (left[of_input.index(str(axis))], right[of_kernel.index(str(axis))], result[of_output.index(str(axis))])
        products *= _valid_positions(sizes, {key: value.split("x")[axis] for key, value in window.items()})
    return products


def _valid_positions(sizes: tuple[int, int, int], window: dict[str, str]) -> int:
    """Count pairs of output and kernel position that meet a value of the input, along one axis."""
    given, kernel, result = sizes
    stride, low = int(window.get("stride", 1)), int(window.get("pad", "0_0").split("_")[0])
    base, spread = int(window.get("lhs_dilate", 1)), int(window.get("rhs_dilate", 1))
    reached = (at * stride - low + tap * spread for at in range(result) for tap in range(kernel))
    return sum(position % base == 0 and 0 <= position < (given - 1) * base + 1 for position in reached)


def bytes_accessed(lines: Sequence[Instruction]) -> float | None:
    """Return bytes read and written by the entry computation; None where it holds loops or hidden work."""
    entry = [line for line in lines if line.entry]
    if any(line.opcode in _HIDING for line in entry):
        return None
    sizes = {line.name: size_bytes(line.shape) for line in entry}
    working = [line for line in entry if line.opcode not in NO_WORK]
    return float(sum(sizes[line.name] + sum(sizes.get(name, 0) for name in _operands(line)) for line in working))


def size_bytes(shape: str) -> int:
    """Return the size of a type, the parts of a tuple together."""
    return sum(math.prod(_numbers(dimensions)) * _element_bits(name) // 8 for name, dimensions in _SHAPE.findall(shape))


def _element_bits(name: str) -> int:
    if name == "pred":
        return 8
    match = _BITS.search(name)
    return max(8, int(match[0])) if match else 0


def _dimensions(shape: str) -> list[int]:
    match = _SHAPE.search(shape)
    return _numbers(match[2]) if match else []


def _numbers(text: str) -> list[int]:
    return [int(part.lstrip("<=")) for part in text.split(",") if part]


def _operands(line: Instruction) -> list[str]:
    """Return the names in the parentheses after the opcode."""
    depth = 0
    for index, character in enumerate(line.rest):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return _NAME.findall(line.rest[:index])
    return _NAME.findall(line.rest)


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
    """Whether it is in the module's entry computation."""


def instructions(text: str) -> Iterator[Instruction]:
    """Yield every instruction of every computation of a module."""
    entry = False
    for line in text.splitlines():
        if line.startswith(("ENTRY", "%", "}")):
            entry = line.startswith("ENTRY")
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        shape, call = _split_shape(match[3])
        opcode, bracket, rest = call.partition("(")
        if bracket:
            yield Instruction(match[2], shape, opcode, bracket + rest, entry)


def _split_shape(text: str) -> tuple[str, str]:
    """Return the result's type and what follows it."""
    if not text.startswith("("):
        shape, _, call = text.partition(" ")
        return shape, call
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[: index + 1], text[index + 2 :]
    return text, ""


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

    def numbered(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"%{len(numbers)}")

    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for line in text.splitlines():
        text_of_line = _MODULE.sub("HloModule", _METADATA.sub("", line))
        if line.startswith(("ENTRY", "%")):
            text_of_line = _ARGUMENT.sub("", text_of_line)
        digest.update(_NAME.sub(numbered, text_of_line).encode() + b"\n")
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
        flops=flops(lines),
        bytes_accessed=bytes_accessed(lines) if kind == "hlo_optimized" else None,
    )
