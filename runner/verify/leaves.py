"""Take results apart: every tensor or value under a name that says where it was found, on the CPU."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_LOSS_ONLY = "QuestionAnsweringModelOutput"
"""Its logits are prone to inaccuracy and its loss contains them; the TorchDynamo harness compares the loss alone."""


@dataclass(frozen=True)
class Opaque:
    """Something that cannot be compared."""

    kind: str


def leaves(value: Any, name: str, *, double: bool = False) -> dict[str, Any]:
    """Return the leaves of a result by name, tensors detached and copied to the CPU.

    Args:
        value: what a model returned.
        name: the name of the whole, which the leaves' names begin with.
        double: give floating tensors as float64.
    """
    return {path: _on_host(leaf, double=double) for path, leaf in _walk(value, name, set())}


def _walk(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    import numpy as np
    import torch

    plain = (
        torch.Tensor,
        str,
        bytes,
        int,
        float,
        complex,
        bool,
        type(None),
        torch.device,
        torch.dtype,
        np.generic,
        set,
    )
    if isinstance(value, np.ndarray):
        yield name, torch.as_tensor(value)
    elif isinstance(value, plain) and not isinstance(value, torch.Size):
        yield name, value
    elif id(value) in seen:
        return
    elif (parts := _parts(value)) is None:
        yield name, Opaque(type(value).__name__)
    else:
        for key, part in parts:
            yield from _walk(part, name + key, {*seen, id(value)})


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """Return what a container holds, each with the end of its name; None for what is no container."""
    import torch

    if type(value).__name__ == _LOSS_ONLY:
        return [(".loss", value.loss)]
    if isinstance(value, Mapping):
        return [(f".{key}", value[key]) for key in sorted(value, key=str)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{key}", part) for key, part in zip(value._fields, value, strict=True)]
    if isinstance(value, list | tuple | collections.deque | torch.nn.ParameterList):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    if callable(value) or not hasattr(value, "__dict__"):
        return None
    return [(f".{key}", part) for key, part in vars(value).items()]


def _on_host(leaf: Any, *, double: bool) -> Any:
    import torch

    if not isinstance(leaf, torch.Tensor):
        return leaf
    tensor = leaf.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    dtype = torch.float64 if double and tensor.is_floating_point() else tensor.dtype
    return tensor.to("cpu", dtype, copy=True)
