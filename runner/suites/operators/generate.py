"""Data for a call: tensors and values as its arguments describe them, the same for every backend."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runner.suites.operators.document import (
    DEFAULT_GENERATOR,
    Argument,
    Arguments,
    DeviceArgument,
    Double,
    DtypeValue,
    Float,
    GenericList,
    Int,
    Long,
    Nothing,
    Number,
    Tensor,
    Tuple,
)
from runner.suites.operators.registry import REGISTERED, generator, load_users
from store.operators import FLOATING, TORCH_NAMES

_INTEGERS = (-10, 9)
_SCALAR = (-10.0, 10.0)


@dataclass
class Draw:
    """Random streams of one case, and what was drawn for it.

    They depend on the seed and the case alone, so that every backend and every process gets the same.
    """

    seed: str
    drawn: list[str] = field(default_factory=list)
    """One sentence per value that was drawn because the file does not fix it."""

    def __post_init__(self) -> None:
        import torch

        self.random = random.Random(self.seed)  # noqa: S311 - data, no secret
        self.torch = torch.Generator().manual_seed(self.random.getrandbits(63))


def find_generator(name: str) -> Callable[..., Any] | None:
    """Return the data generator of a name: ours, or one that a user registers."""
    load_users()
    return REGISTERED.generators.get(name)


@generator(DEFAULT_GENERATOR)
def default(arguments: Arguments, draw: Draw) -> tuple[list[Any], dict[str, Any]]:
    """Return positional arguments and those by name, tensors on the host; as PARAM's generator draws them."""
    return (
        [materialize(argument, draw) for argument in arguments.args],
        {name: materialize(argument, draw) for name, argument in arguments.kwargs.items()},
    )


def materialize(argument: Argument, draw: Draw) -> Any:
    """Return the value that an argument describes."""
    match argument:
        case Tensor():
            return _tensor(argument, draw)
        case Int() | Long() | Float() | Double():
            return _number(argument, draw)
        case GenericList() | Tuple():
            items = [materialize(item, draw) for item in argument.value]
            return tuple(items) if isinstance(argument, Tuple) else items
        case DeviceArgument():
            import torch

            return torch.device(argument.value)
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


def torch_dtype(name: str) -> Any:
    """Return torch's data type of PARAM's name."""
    import torch

    return getattr(torch, TORCH_NAMES.get(name, name))


def _tensor(argument: Tensor, draw: Draw) -> Any:
    import torch

    dtype, shape = torch_dtype(argument.dtype), argument.shape
    if not shape and argument.value_range is None:
        tensor = torch.tensor(draw.random.uniform(*_SCALAR), dtype=dtype)
    elif argument.dtype in FLOATING:
        low, high = argument.value_range or (0.0, 1.0)
        # Drawn in float32, so that a case has the same values in every precision.
        tensor = (low + (high - low) * torch.rand(shape, generator=draw.torch)).to(dtype)
    elif argument.dtype == "bool":
        tensor = torch.rand(shape, generator=draw.torch) < 0.5  # noqa: PLR2004 - as often true as not
    else:
        low, high = argument.value_range or ((0, _INTEGERS[1]) if argument.dtype == "uint8" else _INTEGERS)
        tensor = torch.randint(int(low), int(high) + 1, shape, generator=draw.torch, dtype=dtype)
    return tensor.requires_grad_(argument.differentiable)


@generator("SplitTableBatchedEmbeddingBagsCodegenInputDataGenerator")
def embedding_bag_requests(arguments: Arguments, draw: Draw) -> tuple[list[Any], dict[str, Any]]:
    """Return indices, offsets and weights per sample: uniform indices, the same pooling factor in every bag."""
    import torch

    tables, rows, _, batch_size, factor, weighted, _ = (materialize(argument, draw) for argument in arguments.args)
    count = tables * batch_size * factor
    indices = torch.randint(rows, (count,), generator=draw.torch)
    offsets = torch.arange(0, count + 1, factor)
    weights = torch.rand(count, generator=draw.torch) if weighted else None
    return [indices, offsets, weights], {}


def embedding_bags(
    tables: int,
    rows: int,
    dimension: int,
    pooling: int,
    weighted: bool,  # noqa: FBT001 - the order of PARAM's files
    precision: str,
    optimizer: str,
    lr: float = 0.01,
    eps: float = 1.0e-8,
    weight_decay: float = 0.0,
) -> Any:
    """Return FBGEMM's table-batched embedding bags on the host, with PARAM's options."""
    from fbgemm_gpu import split_table_batched_embeddings_ops as ops

    del weighted
    where = (ops.EmbeddingLocation.HOST, ops.ComputeDevice.CPU)
    return ops.SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, dimension, *where) for _ in range(tables)],
        optimizer=ops.OptimType(optimizer),
        pooling_mode=ops.PoolingMode(pooling),
        weights_precision=ops.SparseType(precision),
        stochastic_rounding=True,
        learning_rate=lr,
        eps=eps,
        weight_decay=weight_decay,
    )
