"""Data for a call: tensors and values as its arguments describe them, the same for every backend."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner.suites.operators.arguments import (
    FLOATING,
    Arguments,
    DeviceArgument,
    Double,
    DtypeValue,
    Float,
    GenericList,
    Int,
    Long,
    Nothing,
    Tensor,
    Tuple,
)
from runner.suites.operators.document import DEFAULT_GENERATOR
from runner.suites.operators.registry import generator
from store.operators import TORCH_NAMES

if TYPE_CHECKING:
    from runner.suites.operators.arguments import Argument, Number

_INTEGERS = (-10, 9)
_SCALAR = (-10.0, 10.0)


@dataclass
class Draw:
    """Random streams of one case, and what was drawn for it.

    They depend on the seed and the case alone, so that every backend and every process gets the same.
    """

    seed: str
    drawn: list[str] = field(default_factory=list)
    """One sentence per value that the file leaves open."""

    def __post_init__(self) -> None:
        import torch

        self.random = random.Random(self.seed)  # noqa: S311 - data, no secret
        self.torch = torch.Generator().manual_seed(self.random.getrandbits(63))


@generator(DEFAULT_GENERATOR)
def default(arguments: Arguments, draw: Draw) -> tuple[list[Any], dict[str, Any]]:
    """Return positional arguments and those by name, tensors on the host; as PARAM's generator draws them."""
    return (
        [materialize(each, draw) for each in arguments.args],
        {name: materialize(each, draw) for name, each in arguments.kwargs.items()},
    )


def materialize(argument: Argument, draw: Draw) -> Any:
    """Return the value that an argument describes."""
    match argument:
        case Tensor():
            return _tensor(argument, draw)
        case Int() | Long() | Float() | Double():
            return _number(argument, draw)
        case GenericList() | Tuple():
            items = [materialize(each, draw) for each in argument.value]
            return tuple(items) if isinstance(argument, Tuple) else items
        case DeviceArgument():
            return _device(argument.value)
        case DtypeValue():
            return torch_dtype(argument.value)
    return None if isinstance(argument, Nothing) else argument.value


def _number(argument: Number, draw: Draw) -> float:
    if argument.value is not None:
        return argument.value
    low, high = argument.value_range or (0, 0)
    value = draw.random.randint(int(low), int(high)) if argument.whole else draw.random.uniform(low, high)
    draw.drawn.append(f"value_range [{low:g}, {high:g}]: all backends get {value!r}")
    return value


def _device(name: str) -> Any:
    import torch

    return torch.device(name)


def torch_dtype(name: str) -> Any:
    """Return torch's data type of PARAM's name."""
    import torch

    return getattr(torch, TORCH_NAMES.get(name, name))


def _tensor(argument: Tensor, draw: Draw) -> Any:
    import torch

    dtype, shape = torch_dtype(argument.dtype), argument.shape
    if not shape and argument.value_range is None:
        made = torch.tensor(draw.random.uniform(*_SCALAR), dtype=dtype)
    elif argument.dtype in FLOATING:
        low, high = argument.value_range or (0.0, 1.0)
        # Drawn in float32, so that a case has the same values in every precision.
        made = (low + (high - low) * torch.rand(shape, generator=draw.torch)).to(dtype)
    elif argument.dtype == "bool":
        made = torch.rand(shape, generator=draw.torch) < 0.5  # noqa: PLR2004 - as often true as not
    else:
        low, high = argument.value_range or ((0, _INTEGERS[1]) if argument.dtype == "uint8" else _INTEGERS)
        made = torch.randint(int(low), int(high) + 1, shape, generator=draw.torch, dtype=dtype)
    return made.requires_grad_(argument.differentiable)
