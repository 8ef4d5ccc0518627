"""A call of an op as text of a script; only the capturing process uses it, as it needs torch."""

from __future__ import annotations

import math
from typing import Any

from runner.repro.calls import Call

_FEW = 16
"""Elements up to which integers are written down one by one."""


def call_text(func: Any, args: Any, kwargs: Any) -> Call:
    """Write a call down; arguments are values, or the nodes of a graph that stand for them."""
    tensors: list[str] = []
    words = [_text(value, tensors) for value in args]
    words += [f"{name}={_text(value, tensors)}" for name, value in kwargs.items()]
    return Call(f"torch.ops.{func}", ", ".join(words), tensors)


def _text(value: Any, tensors: list[str]) -> str:
    """Return an argument as text of a script; a tensor becomes one of `values`."""
    import torch

    if isinstance(value, torch.fx.Node):
        return _of_node(value.meta["val"], tensors)
    if isinstance(value, torch.Tensor):
        tensors.append(_tensor(value))
        return f"values[{len(tensors) - 1}]"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_text(each, tensors) for each in value) + "]"
    return _constant(value)


def _constant(value: Any) -> str:
    import torch

    if isinstance(value, torch.device):
        return f"torch.device({value.type!r})"
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _of_node(value: Any, tensors: list[str]) -> str:
    """Return what stands for a node's value, of which shape and type are known alone."""
    import torch

    if not isinstance(value, torch.Tensor):
        return repr(int(value) if isinstance(value, torch.SymInt) else value)
    tensors.append(f"tensor({tuple(int(size) for size in value.shape)!r}, {value.dtype}, 0, 1)")
    return f"values[{len(tensors) - 1}]"


def _tensor(value: Any) -> str:
    """Return how to make a tensor of the same shape, type and range."""
    import torch

    there = value.detach().to("cpu")
    floating = there.is_floating_point() or there.is_complex()
    if 0 < there.numel() <= _FEW and not floating:
        return f"torch.tensor({there.tolist()!r}, dtype={there.dtype})"
    known = there[torch.isfinite(there)] if there.is_floating_point() else there.flatten()[:0]
    known = known if floating else there.long()
    low, high = (known.min().item(), known.max().item()) if known.numel() else (0, 1)
    bounds = f"{low:.6g}, {high:.6g}" if floating else f"{low}, {high}"
    return f"tensor({tuple(there.shape)!r}, {there.dtype}, {bounds})"
