"""Take results apart: every tensor or value under a name that says where it was found, on the CPU."""

from __future__ import annotations

import collections
import inspect
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

_LOSS_ONLY = "QuestionAnsweringModelOutput"
"""Its logits are prone to inaccuracy and its loss contains them; the TorchDynamo harness compares the loss alone."""


@dataclass(frozen=True)
class Opaque:
    """Something that cannot be compared."""

    kind: str
    code: bool = False
    """It is a function, a class or a module, which a model can return and no backend computes."""


def leaves(value: Any, name: str, *, double: bool = False) -> dict[str, Any]:
    """Return the leaves of a result by name, tensors detached and copied to the CPU.

    Args:
        value: what a model returned.
        name: the name of the whole, which the leaves' names begin with.
        double: give floating tensors as float64.
    """
    found: dict[str, Any] = {}
    for path, leaf in _walk(value, name, set()):
        unique = path
        while unique in found:  # The keys `0` and `"0"` of one dict, or `"a.b"` beside a dict `"a"`.
            unique += "'"
        found[unique] = _on_host(leaf, double=double)
    return found


def gradients(module: Any, *, double: bool = False) -> dict[str, Any]:
    """Return the gradients that a step of training leaves in a module."""
    tensors: dict[str, Any] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            tensors |= leaves(gradient_of(parameter), f"grad.{name}", double=double)
    return tensors


INPUT_GRADIENT = "input_grad"
"""Kind of the gradients of inputs; a leaf is named by the place of its input among the tensors of a call."""


def with_gradients(inputs: Any, module: Any) -> dict[str, Any]:
    """Return what the backward of a call has gradients of, by the names of these: inputs, then parameters."""
    tensors = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    named = {f"{INPUT_GRADIENT}[{place}]": tensor for place, tensor in enumerate(tensors)}
    named |= {f"grad.{name}": parameter for name, parameter in module.named_parameters()}
    return {name: tensor for name, tensor in named.items() if tensor.requires_grad}


def trained(module: Any, *, stepped: bool, double: bool) -> dict[str, Any]:
    """Return what a step of training leaves in a module: gradients, buffers, and parameters that an optimizer moved."""
    return gradients(module, double=double) | weights_and_buffers(module, stepped=stepped, double=double)


def weights_and_buffers(module: Any, *, stepped: bool, double: bool = False) -> dict[str, Any]:
    """Return what a step of training may move: buffers, and parameters where there is an optimizer."""
    tensors: dict[str, Any] = {}
    for name, parameter in module.named_parameters() if stepped else ():
        tensors |= leaves(parameter, f"param.{name}", double=double)
    for name, buffer in module.named_buffers():
        tensors |= leaves(buffer, f"buffer.{name}", double=double)
    return tensors


def gradient_of(tensor: Any) -> Any:
    """Return the gradient of a tensor; a backend may leave out one that is zero."""
    return tensor.new_zeros(tensor.shape) if tensor.grad is None else tensor.grad


def _walk(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    import numpy as np

    if isinstance(value, np.ndarray | np.number):
        yield name, torch.as_tensor(value)
    elif isinstance(value, complex):
        yield name, torch.tensor(value, dtype=torch.complex128)
    elif isinstance(value, torch.Tensor) and value.is_nested:
        for index, part in enumerate(value.unbind()):
            yield f"{name}[{index}]", part
    elif isinstance(value, torch.Tensor) or _is_plain(value):
        yield name, value
    elif id(value) in seen:
        return
    elif (parts := _parts(value)) is None:
        yield name, Opaque(type(value).__name__, _is_code(value))
    else:
        for key, part in parts:
            yield from _walk(part, name + key, {*seen, id(value)})


def _is_plain(value: Any) -> bool:
    """Say whether two values of this kind are compared by `==`; a set of tensors has no order to compare them in."""
    import numpy as np

    if isinstance(value, set | frozenset):
        return all(_is_plain(part) for part in value)
    plain = (str, bytes, int, float, type(None), torch.device, torch.dtype, np.generic)
    return isinstance(value, plain)


def _is_code(value: Any) -> bool:
    """Say whether a value is code; an object that can be called may hold results like any other."""
    return isinstance(value, type | torch.nn.Module) or inspect.isroutine(value)


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """Return what a container holds, each with the end of its name; None for what is no container."""
    if type(value).__name__ == _LOSS_ONLY:
        return [(".loss", value.loss)]
    if isinstance(value, Mapping):
        return [(f".{key}", value[key]) for key in sorted(value, key=str)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{key}", part) for key, part in zip(value._fields, value, strict=True)]
    if isinstance(value, list | tuple | collections.deque | torch.nn.ParameterList):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    slots = _slots(value)
    held = bool(slots) or hasattr(value, "__dict__")
    if _is_code(value) or isinstance(value, Iterator | set | frozenset) or not held:
        return None
    return [*slots, *((f".{key}", part) for key, part in getattr(value, "__dict__", {}).items())]


def _slots(value: Any) -> list[tuple[str, Any]]:
    """Return what the slots of an object hold, as those of a dataclass with `slots=True`."""
    members = {
        name: member
        for owner in reversed(type(value).__mro__)
        for name, member in vars(owner).items()
        if isinstance(member, types.MemberDescriptorType)
    }
    return [(f".{name}", getattr(value, name)) for name in members if hasattr(value, name)]


def _on_host(leaf: Any, *, double: bool) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    tensor = leaf.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    dtype = torch.float64 if double and tensor.is_floating_point() else tensor.dtype
    return tensor.to("cpu", dtype, copy=True)


_COSINE_EPS = 1e-6


# Two tensors: whether they are the same, how far apart, at which angle, by which factor.


def identical(first: Any, second: Any) -> bool:
    """Say whether two runs gave the same; NaN equals NaN."""
    if not isinstance(first, torch.Tensor):
        both_nan = first != first and second != second  # noqa: PLR0124 - NaN
        return type(first) is type(second) and bool(first == second or both_nan)
    if not isinstance(second, torch.Tensor) or first.dtype != second.dtype or first.shape != second.shape:
        return False
    if torch.equal(first, second):
        return True
    first, second = dense(first), dense(second)
    return first.is_floating_point() and bool(torch.allclose(first, second, rtol=0, atol=0, equal_nan=True))


def largest(tensor: Any) -> float:
    """Return the largest finite magnitude in a tensor; 0 where there is none."""
    values = dense(tensor).abs()
    values = values[torch.isfinite(values)] if values.is_floating_point() else values
    return float(values.max()) if values.numel() else 0.0


def dense(value: Any) -> Any:
    """Return a value as a dense tensor of a dtype that torch can compute with, complex numbers as pairs."""
    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    if tensor.is_complex():
        return torch.view_as_real(tensor)
    if tensor.is_quantized:
        return tensor.dequantize()
    if tensor.is_floating_point() and tensor.itemsize == 1:
        return tensor.float()
    if tensor.dtype == torch.uint64:
        return tensor.view(torch.int64)
    return tensor.to(torch.int64) if tensor.dtype in (torch.uint16, torch.uint32) else tensor


def ratio(eager: Any, result: Any, scale: float) -> float:
    """Return the tolerance at which the two are just close."""
    difference = (eager.double() - result.double()).abs()
    return float((difference / (scale + result.double().abs())).max())


def gain(reference: Any, result: Any) -> float:
    """Return by what factor the result is the reference, as a whole."""
    size = float(reference.square().sum())
    return float((reference * result.double()).sum()) / size if size else math.inf


def differences(eager: Any, result: Any) -> dict[str, Any]:
    """Return the largest absolute and relative difference; None where either has values that are not finite."""
    if not eager.numel():
        return {"max_abs": 0.0, "max_rel": 0.0}
    difference = float((eager.double() - result.double()).abs().max())
    if not math.isfinite(difference):
        return {}
    size = largest(eager)
    return {"max_abs": difference, "max_rel": difference / size if size else (0.0 if difference == 0 else None)}


def cosine(eager: Any, result: Any) -> float | None:
    """Return the cosine of two tensors as vectors, None where it is not defined; the unit of both does not matter."""
    first, second = (tensor.flatten().to(torch.float32) for tensor in (eager, result))
    if not first.any() or not second.any():
        return None
    size = largest(first) or 1.0
    score = torch.nn.functional.cosine_similarity(first / size, second / size, dim=0, eps=_COSINE_EPS).item()
    return score if math.isfinite(score) else None


def rmse(reference: Any, value: Any, rows: int | None) -> Any:
    """Return the root of the mean square error of each chunk of samples, as a tensor."""
    squares = (reference - value).double().square()
    if rows is None:
        return squares.mean().sqrt().reshape(1)
    samples = squares.flatten(1).mean(1) if squares.dim() > 1 else squares
    whole = len(samples) // rows * rows
    means = [samples[:whole].view(-1, rows).mean(1)]
    if whole < len(samples):
        means.append(samples[whole:].mean().reshape(1))
    return torch.cat(means).sqrt()
