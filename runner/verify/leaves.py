"""Take results apart: every tensor or value under a name that says where it was found, on the CPU."""

from __future__ import annotations

import collections
import math
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


def trained(module: Any, *, stepped: bool, double: bool) -> dict[str, Any]:
    """Return what a step of training leaves in a module: gradients, buffers, and parameters that an optimizer moved."""
    tensors: dict[str, Any] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            # A backend may leave out a gradient that is zero.
            gradient = parameter.new_zeros(parameter.shape) if parameter.grad is None else parameter.grad
            tensors |= leaves(gradient, f"grad.{name}", double=double)
        if stepped:
            tensors |= leaves(parameter, f"param.{name}", double=double)
    for name, buffer in module.named_buffers():
        tensors |= leaves(buffer, f"buffer.{name}", double=double)
    return tensors


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


_COSINE_EPS = 1e-6


# Two tensors: whether they are the same, how far apart, at which angle, by which factor.


def identical(first: Any, second: Any) -> bool:
    """Say whether two runs gave the same; NaN equals NaN."""
    import torch

    if not isinstance(first, torch.Tensor):
        both_nan = first != first and second != second  # noqa: PLR0124 - NaN
        return type(first) is type(second) and bool(first == second or both_nan)
    if not isinstance(second, torch.Tensor) or first.dtype != second.dtype or first.shape != second.shape:
        return False
    if torch.equal(first, second):
        return True
    floating = first.is_floating_point() or first.is_complex()
    return floating and bool(torch.allclose(first, second, rtol=0, atol=0, equal_nan=True))


def largest(tensor: Any) -> float:
    """Return the largest finite magnitude in a tensor; 0 where there is none."""
    import torch

    values = tensor.abs()
    values = values[torch.isfinite(values)] if values.is_floating_point() else values
    return float(values.max()) if values.numel() else 0.0


def dense(value: Any) -> Any:
    """Return a value as a dense tensor, complex numbers as pairs."""
    import torch

    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


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
    import torch

    first, second = (tensor.flatten().to(torch.float32) for tensor in (eager, result))
    if not first.any() or not second.any():
        return None
    size = largest(first) or 1.0
    score = torch.nn.functional.cosine_similarity(first / size, second / size, dim=0, eps=_COSINE_EPS).item()
    return score if math.isfinite(score) else None


def rmse(reference: Any, value: Any, rows: int | None) -> Any:
    """Return the root of the mean square error of each chunk of samples, as a tensor."""
    import torch

    squares = (reference - value).double().square()
    if rows is None:
        return squares.mean().sqrt().reshape(1)
    samples = squares.flatten(1).mean(1) if squares.dim() > 1 else squares
    whole = len(samples) // rows * rows
    means = [samples[:whole].view(-1, rows).mean(1)]
    if whole < len(samples):
        means.append(samples[whole:].mean().reshape(1))
    return torch.cat(means).sqrt()
