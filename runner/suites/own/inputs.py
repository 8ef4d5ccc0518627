"""Inputs of a model: from what was typed (`f32[8,3,224,224]`), from the source, and as a call takes them."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runner.suites.own.reference import OwnModelError, TypedInput, typed


def made(texts: tuple[str, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments and keywords that were typed, drawn from the current random stream."""
    wanted = [typed(text) for text in texts]
    args = tuple(_tensor(typed_input) for typed_input in wanted if typed_input.name is None)
    return args, {typed_input.name: _tensor(typed_input) for typed_input in wanted if typed_input.name is not None}


def _tensor(wanted: TypedInput) -> Any:
    dtype = getattr(torch, wanted.dtype)
    if dtype == torch.bool:
        return torch.rand(wanted.sizes) < 0.5  # noqa: PLR2004 - as many of each
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(wanted.sizes, dtype=dtype)
    highest = min(wanted.below, torch.iinfo(dtype).max)
    return torch.randint(0, highest, wanted.sizes, dtype=dtype)


def called_with(module: Any, typed_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return inputs as a call takes them: a tuple is its arguments, a dict its keywords where `forward` names them."""
    if isinstance(typed_inputs, dict):
        return ((), dict(typed_inputs)) if _binds(module, (), typed_inputs) else ((typed_inputs,), {})
    if isinstance(typed_inputs, tuple | list) and not hasattr(typed_inputs, "_fields"):
        return (tuple(typed_inputs), {}) if _binds(module, tuple(typed_inputs), {}) else ((typed_inputs,), {})
    return (typed_inputs,), {}


def _binds(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if not all(isinstance(key, str) for key in kwargs):
        return False
    try:
        inspect.signature(module.forward).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return False
    return True


def batch_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return one iteration's inputs as `loss` and `train_step` get them: the only one, the tuple, or the dict."""
    if not args:
        return kwargs
    if kwargs:
        return args, kwargs
    return args[0] if len(args) == 1 else args


def batch_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """Return the size of the first dimension, where all tensors share it."""
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    sizes = {int(tensor.shape[0]) if tensor.dim() else None for tensor in tensors}
    return sizes.pop() if len(sizes) == 1 else None


def check_uncompiled(module: Any, name: str) -> None:
    """Refuse a module that torch.compile has wrapped: under every backend it would be compiled by that call.

    Raises:
        OwnModelError: it is, or holds one.
    """
    if any(hasattr(submodule, "_orig_mod") for submodule in module.modules()):
        raise OwnModelError(
            f"{name} contains a result of torch.compile. Remove that call: each backend compiles the model itself."
        )


def check_places(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
    """Refuse a model or inputs that are not on the CPU, where each backend takes them from.

    Raises:
        OwnModelError: with the device that they are on.
    """
    weights = [*module.parameters(), *module.buffers()]
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    for what, placed in (("weights", weights), ("inputs", tensors)):
        elsewhere = sorted({str(tensor.device) for tensor in placed if tensor.device.type != "cpu"})
        if elsewhere:
            raise OwnModelError(
                f"{name}: its {what} are on {', '.join(elsewhere)}; leave them on the CPU, because each backend "
                "moves them to its own device."
            )
