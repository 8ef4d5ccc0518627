"""FLOPs and bytes of an HLO module from its shapes, by the rules of XLA's own cost analysis.

PyTorch/XLA does not hand that analysis out. FLOPs are those of matrix products and convolutions, which are nearly all
of them; bytes are what the instructions of the entry computation read and write, a fusion counting as one.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.graphs.instructions import Instruction

_SHAPE = re.compile(r"\b([a-z]+\d*[a-z0-9]*)\[([\d,<=]*)\]")
_BITS = re.compile(r"\d+")
_OPERAND = re.compile(r"%[\w.\-]+")
_CONTRACTING = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->(\w+)")
_WINDOW = re.compile(r"window=\{([^}]*)\}")
_GROUPS = re.compile(r"(?:feature|batch)_group_count=(\d+)")
_FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
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
        found = _CONTRACTING.search(line.rest)
        axes = [int(axis) for axis in found[1].split(",") if axis] if found else []
        return 2 * result * math.prod(left[axis] for axis in axes)
    return 2 * _products(line, left, right)


def _products(line: Instruction, left: list[int], right: list[int]) -> int:
    """Return the multiplications of a convolution; window positions in padding or dilation cost none."""
    labels = _LABELS.search(line.rest)
    if labels is None:
        return 0
    of_input, of_kernel, of_output = labels.groups()
    result = _dimensions(line.shape)
    window = dict(part.split("=") for part in _window(line).split() if "=" in part)
    groups = math.prod(int(count) for count in _GROUPS.findall(line.rest))
    found = left[of_input.index("b")] * left[of_input.index("f")] * right[of_kernel.index("o")] // groups
    for axis in range(len(left) - 2):
        sizes = (left[of_input.index(str(axis))], right[of_kernel.index(str(axis))], result[of_output.index(str(axis))])
        found *= _valid_positions(sizes, {key: value.split("x")[axis] for key, value in window.items()})
    return found


def _window(line: Instruction) -> str:
    found = _WINDOW.search(line.rest)
    return found[1] if found else ""


def _valid_positions(sizes: tuple[int, int, int], window: dict[str, str]) -> int:
    """Count pairs of output and kernel position that meet a value of the input, along one axis."""
    given, kernel, result = sizes
    stride, low = int(window.get("stride", 1)), int(window.get("pad", "0_0").split("_")[0])
    base, spread = int(window.get("lhs_dilate", 1)), int(window.get("rhs_dilate", 1))
    reached = (at * stride - low + tap * spread for at in range(result) for tap in range(kernel))
    return sum(place % base == 0 and 0 <= place < (given - 1) * base + 1 for place in reached)


def bytes_accessed(lines: Sequence[Instruction]) -> float | None:
    """Return bytes read and written by the entry computation; None where it holds loops or hidden work."""
    entry = [line for line in lines if line.entry]
    if any(line.opcode in _HIDING for line in entry):
        return None
    sizes = {line.name: size_bytes(line.shape) for line in entry}
    working = [line for line in entry if line.opcode not in _FREE]
    return float(sum(sizes[line.name] + sum(sizes.get(name, 0) for name in _operands(line)) for line in working))


def size_bytes(shape: str) -> int:
    """Return the size of a type, the parts of a tuple together."""
    return sum(math.prod(_numbers(dimensions)) * _element_bits(name) // 8 for name, dimensions in _SHAPE.findall(shape))


def _element_bits(name: str) -> int:
    if name == "pred":
        return 8
    found = _BITS.search(name)
    return max(8, int(found[0])) if found else 0


def _dimensions(shape: str) -> list[int]:
    found = _SHAPE.search(shape)
    return _numbers(found[2]) if found else []


def _numbers(text: str) -> list[int]:
    return [int(part.lstrip("<=")) for part in text.split(",") if part]


def _operands(line: Instruction) -> list[str]:
    """Return the names in the parentheses after the opcode."""
    depth = 0
    for place, character in enumerate(line.rest):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return _OPERAND.findall(line.rest[:place])
    return _OPERAND.findall(line.rest)
