"""Judge one tensor or value: the rules of `torch._dynamo.utils.same`, with the figures that they rest on.

The one rule of ours: where all values lie below the absolute tolerance, zeros would pass. There the tolerance is taken
relative to the largest value (`scale`), provided that eager itself is that exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

COSINE = 0.99
_COSINE_EPS = 1e-6
_LOOSE = 4e-2
"""Where eager's result has a NaN and the backend's and float64's do not."""
_VACUOUS = 0.1
"""A tolerance above this share of the largest value hardly distinguishes a result from zeros."""
_EXACT = 0.1
"""Eager is exact enough for a relative tolerance where its error is below this share of it."""
_NOISE = 0.01
"""Where eager's error is above this share of the largest value, the tensor holds little but rounding."""
_TINY, _SMALL, _MEDIUM = 10, 500, 1000
_LARGE_TOLERANCE = 2e-2


@dataclass(frozen=True, kw_only=True)
class Rule:
    """By what tensors are judged."""

    tolerance: float
    cosine: bool = False
    larger_multiplier: bool = False
    max_multiplier: bool = False
    """Inductor's freezing has folded bfloat16 convolutions."""
    iou: float | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the check of one tensor found; `check` is the one that decided."""

    passed: bool
    check: str
    scale: float = 1.0
    max_abs: float | None = None
    max_rel: float | None = None
    """Largest difference over the largest value of eager's tensor."""
    rmse: float | None = None
    rmse_eager: float | None = None
    cosine: float | None = None
    noise: bool = False
    """Eager itself is far from float64 here, as in gradients that would be zero but for rounding."""


def judge(eager: Any, result: Any, double: Any, rule: Rule, least_scale: float | None = None) -> Judgement:
    """Judge a result against eager's and, where there is one, the float64 reference (else None).

    Args:
        eager: eager's value.
        result: the backend's value.
        double: the float64 reference.
        rule: how exact the result has to be.
        least_scale: without a float64 reference: the largest value of all tensors of this kind.
    """
    import torch

    if not isinstance(eager, torch.Tensor | float):
        same = type(eager) is type(result) and bool(eager == result)
        return Judgement(passed=same, check="bitwise" if same else "value")
    if not isinstance(result, torch.Tensor | float):
        return Judgement(passed=False, check="structure")
    eager, result = (_dense(each) for each in (eager, result))
    reference = _dense(double) if isinstance(double, torch.Tensor | float) else None
    if eager.shape != result.shape:
        return Judgement(passed=False, check="shape")
    if eager.dtype != result.dtype:
        return Judgement(passed=False, check="dtype", **_differences(eager, result))
    if eager.dtype == torch.bool:
        return _judge_mask(eager, result, rule)
    if reference is not None and (reference.dtype != torch.float64 or reference.shape != eager.shape):
        reference = None
    return _judge_numbers(eager, result, reference, rule, least_scale)


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


def _dense(value: Any) -> Any:
    import torch

    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _judge_mask(eager: Any, result: Any, rule: Rule) -> Judgement:
    import torch

    if torch.equal(eager, result):
        return Judgement(passed=True, check="bitwise", max_abs=0.0, max_rel=0.0)
    if rule.iou is not None:
        overlap = float((eager & result).sum() / (eager | result).sum())
        return Judgement(passed=overlap >= rule.iou, check="iou", max_abs=1.0, max_rel=1.0)
    bytes_ = (eager.to(torch.uint8), result.to(torch.uint8))
    close = bool(torch.allclose(*bytes_, atol=rule.tolerance, rtol=rule.tolerance))
    return Judgement(passed=close, check="allclose", max_abs=1.0, max_rel=1.0)


def _judge_numbers(eager: Any, result: Any, reference: Any, rule: Rule, least_scale: float | None) -> Judgement:
    import torch

    figures = _differences(eager, result)
    scale = 1.0
    if eager.is_floating_point():
        figures["cosine"] = _cosine(eager, result)
        if reference is not None:
            own = _rmse(reference, eager)
            noise = own > _NOISE * largest(reference)
            figures |= {"rmse": _rmse(reference, result), "rmse_eager": own, "noise": noise}
        scale = _scale(reference, figures.get("rmse_eager"), rule, least_scale)
    if torch.equal(eager, result):
        return Judgement(passed=True, check="bitwise", scale=scale, **figures)
    if rule.cosine:
        # As `same` does it: half precision is widened before it is compared.
        eager, result = eager.to(torch.float32), result.to(torch.float32)
    if torch.allclose(eager, result, atol=rule.tolerance * scale, rtol=rule.tolerance, equal_nan=True):
        return Judgement(passed=True, check="allclose", scale=scale, **figures)
    if rule.cosine:
        score = figures.get("cosine", _cosine(eager, result))
        return Judgement(passed=score is not None and score >= COSINE, check="cosine", scale=scale, **figures)
    if reference is None:
        return Judgement(passed=False, check="allclose", scale=scale, **figures)
    passed, check = _by_float64(eager, result, reference, rule, scale)
    return Judgement(passed=passed, check=check, scale=scale, **figures)


def _by_float64(eager: Any, result: Any, reference: Any, rule: Rule, scale: float) -> tuple[bool, str]:
    """Pass what is about as far from float64 as eager is."""
    import torch

    better = bool(eager.isnan().any()) and not result.isnan().any() and not reference.isnan().any()
    if better and torch.allclose(reference.to(result.dtype), result, atol=_LOOSE, rtol=_LOOSE, equal_nan=True):
        return True, "float64"
    error, own = _rmse(reference, result), _rmse(reference, eager)
    if math.isnan(own) and math.isnan(error):
        return True, "nan"
    return error <= _multiplier(eager, reference, rule) * own + rule.tolerance * scale / 10, "rmse"


def _multiplier(eager: Any, reference: Any, rule: Rule) -> float:
    """Return how many times eager's error is allowed; noise dominates small tensors and 1x1 kernels."""
    import torch

    if rule.max_multiplier:
        return 10.0
    count = reference.numel()
    if rule.larger_multiplier and count <= _SMALL:
        return 10.0 if count <= _TINY else 8.0
    kernel = eager.ndim == 4 and eager.shape[-1] == eager.shape[-2] == 1  # noqa: PLR2004 - a convolution's weight
    if count < _MEDIUM or kernel or rule.tolerance >= _LARGE_TOLERANCE:
        return 3.0
    return 3.0 if eager.dtype in (torch.float16, torch.bfloat16) else 2.0


def _scale(reference: Any, own: float | None, rule: Rule, least_scale: float | None) -> float:
    """Return what the absolute tolerance is multiplied by; 1 unless it is vacuous."""
    if reference is None:
        scale = least_scale or 0.0
    else:
        scale = largest(reference)
        if own is None or not own <= _EXACT * rule.tolerance * scale:
            return 1.0
    return scale if scale > 0 and rule.tolerance > _VACUOUS * scale else 1.0


def _differences(eager: Any, result: Any) -> dict[str, Any]:
    """Return the largest absolute and relative difference; None where either has values that are not finite."""
    if not eager.numel():
        return {"max_abs": 0.0, "max_rel": 0.0}
    difference = float((eager.double() - result.double()).abs().max())
    if not math.isfinite(difference):
        return {}
    size = largest(eager)
    return {"max_abs": difference, "max_rel": difference / size if size else (0.0 if difference == 0 else None)}


def _cosine(eager: Any, result: Any) -> float | None:
    """Return the cosine of two tensors as vectors, None where it is not defined; the unit of both does not matter."""
    import torch

    first, second = (each.flatten().to(torch.float32) for each in (eager, result))
    if not first.any() or not second.any():
        return None
    size = largest(first) or 1.0
    score = torch.nn.functional.cosine_similarity(first / size, second / size, dim=0, eps=_COSINE_EPS).item()
    return score if math.isfinite(score) else None


def _rmse(reference: Any, value: Any) -> float:
    return float((reference - value).square().mean().sqrt())
