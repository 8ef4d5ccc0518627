"""What is said of two tensors: whether they are the same, how far apart, at which angle, by which factor."""

from __future__ import annotations

import math
from typing import Any

_COSINE_EPS = 1e-6


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

    first, second = (each.flatten().to(torch.float32) for each in (eager, result))
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
