"""Judge one tensor or value: the rules of `torch._dynamo.utils.same`, made able to notice a wrong answer.

A rule is no evidence unless it would fail a wrong tensor. So each tensor of eager's is mutated (zeros, rows rotated,
the sign, 5 %, what was there before the iteration), and where the harness's rule lets a mutation pass, a tighter one
takes its place: the tolerance is relative to the largest value, the slack is a fraction of the mutation's own error,
and the size of the whole may be off by little. Integers and truth values have to be equal, but for as many as eager's
own differ from those of float64: the harness's 1e-3 would take one index of thousands for the next. A tensor whose
mutations pass even so is *not judged*: eager computes noise there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from runner.verify.leaves import cosine, dense, differences, gain, largest, ratio, rmse

# The control of a check: wrong tensors made of eager's, each of which the check of that tensor has to fail.

STRENGTH = 0.05
_ROWS_APART = 100.0
"""Rows are told apart where they differ by this many times eager's error: nearer ones no rule can tell."""


def mutations(tensor: Any, own: float, *, rotated: bool = False) -> Iterator[Any]:
    """Yield wrong versions of a tensor, all of them different from it: the first that passes a check proves it blind.

    Args:
        tensor: eager's, finite.
        own: eager's error.
        rotated: only the tensor with its rows rotated.
    """
    if not rotated:
        if tensor.dtype == torch.bool:
            yield ~tensor
        elif tensor.is_floating_point():
            yield tensor * (1 + STRENGTH)
            yield torch.zeros_like(tensor)
            yield -tensor
        else:
            yield torch.zeros_like(tensor)
            if tensor.dtype.is_signed:
                yield -tensor
    if tensor.dim() and tensor.shape[0] > 1:
        turned = tensor.roll(1, 0)
        if not torch.equal(turned, tensor) and _difference(turned, tensor) > _ROWS_APART * own:
            yield turned


def _difference(first: Any, second: Any) -> float:
    return float((first.double() - second.double()).square().mean().sqrt())


COSINE = 0.99
_FRACTION = 5.0
"""A tightened bound lies at this part of the smallest mutation's distance."""
_EXACT = 0.1
"""Eager is exact where its error is below this share of the relative tolerance."""
_GAIN = 0.01
"""Largest relative error of a whole tensor's size under a tightened rule, before eager's own error counts."""
_ROUNDINGS = 8.0
"""Assumed error of eager without a float64 reference, in units of its dtype's rounding of the largest value."""
_APART = 10.0
"""Times eager's error by which a tensor changes that varies."""
_WHOLE_MULTIPLIER = 2.0
"""Times as many integers as eager's that may differ from float64's."""
_OUTLIER = 10.0
"""Times the largest error of eager's elements by which no element of a right result is off."""
_TINY, _SMALL, _MEDIUM = 10, 500, 1000
_LARGE_TOLERANCE = 2e-2

NOISE = "eager itself is as far from float64 as a wrong answer would be"
CONSTANT = "constant"
ZEROS = "all zeros"
NOT_FINITE = "eager's values are not finite"


@dataclass(frozen=True, kw_only=True)
class TensorRule:
    """The rule by which tensors are judged."""

    tolerance: float
    cosine: bool = False
    larger_multiplier: bool = False
    max_multiplier: bool = False
    """Inductor's freezing has folded bfloat16 convolutions."""
    iou: float | None = None
    widen: bool = False
    """Floating dtypes may differ, and are compared as the wider one: under autocast each device type has its own list
    of ops that compute in float32."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the check of one tensor found; `check` is the one that decided."""

    passed: bool
    check: str
    unjudged: str | None = None
    """Why the check is no evidence; `passed` says then what the harness's own rule says."""
    tight: bool = False
    """The harness's rule would not have noticed a wrong answer, so a tighter one was taken."""
    max_abs: float | None = None
    max_rel: float | None = None
    """Largest difference over the largest value of eager's tensor."""
    rmse: float | None = None
    rmse_eager: float | None = None
    """Both of the chunk of samples that is furthest beyond its bound."""
    cosine: float | None = None
    samples: tuple[int, int] | None = None
    """First and last sample of that chunk, where there are several."""


def judge(
    eager: Any,
    result: Any,
    double: Any,
    rule: TensorRule,
    least_scale: float = 0.0,
    rows: int | None = None,
    before: Any = None,
) -> Judgement:
    """Judge one result; `Yardstick` judges several against the same reference."""
    return Yardstick.of(eager, double, rule, least_scale, rows, before).judge(result)


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """What a right value is and how far off a result may be; made once for all results of a leaf."""

    eager: Any
    """A dense tensor, or a plain value."""
    double: Any = None
    """The float64 reference, or None."""
    dtype: Any = None
    """Eager's own dtype; `eager` is in one that torch can compute with."""
    rule: TensorRule
    rows: int | None = None
    """Samples that are judged together; None: the whole tensor."""
    before: Any = None
    """What was there before the iteration, which is wrong if eager changes it; None: not known."""
    own: Any = None
    """Eager's error by chunk."""
    tight: bool = False
    tolerance: float
    scale: float = 1.0
    slack: float = 0.0
    gain: float | None = None
    """Largest relative error of the whole tensor's size; None: no limit."""
    unjudged: str | None = None

    @classmethod
    def of(
        cls,
        eager: Any,
        double: Any,
        rule: TensorRule,
        least_scale: float = 0.0,
        rows: int | None = None,
        before: Any = None,
    ) -> Yardstick:
        """Take the harness's rule, a tighter one where that would not notice a wrong answer.

        Args:
            eager: eager's value.
            double: the float64 reference, or None.
            rule: how exact a result has to be.
            least_scale: without a float64 reference: the largest value of all tensors of this kind.
            rows: how many samples are judged together, where the first dimension is that of samples.
            before: the leaf before the iteration, or None.
        """
        if not isinstance(eager, torch.Tensor | float):
            return cls(eager=eager, rule=rule, tolerance=rule.tolerance, unjudged=CONSTANT)
        dtype, eager = _dtype(eager), dense(eager)
        reference = dense(double) if isinstance(double, torch.Tensor | float) else None
        alike = torch.float64 if eager.is_floating_point() else eager.dtype
        if reference is not None and (reference.dtype != alike or reference.shape != eager.shape):
            reference = None
        made = cls(
            eager=eager,
            double=reference,
            dtype=dtype,
            rule=rule,
            rows=rows if rows and eager.dim() and eager.shape[0] > rows else None,
            before=dense(before) if isinstance(before, torch.Tensor) and before.is_floating_point() else None,
            tolerance=rule.tolerance if eager.is_floating_point() else 0.0,
            slack=rule.tolerance / 10,
        )
        if (why := _plain(eager, reference)) is not None:
            return replace(made, unjudged=why).with_own(least_scale).relative()
        if not eager.is_floating_point():
            blind = any(made.agrees(mutation) for mutation in mutations(eager, 0.0))
            return replace(made, unjudged=NOISE if blind else None)
        if not bool(torch.isfinite(eager).any()):
            return replace(made, unjudged=NOT_FINITE).with_own(least_scale)
        return made.with_own(least_scale).sharpened()

    def judge(self, result: Any) -> Judgement:
        """Judge a result; a value of another kind, shape or dtype is wrong whatever it holds."""
        if not isinstance(self.eager, torch.Tensor):
            same = type(self.eager) is type(result) and bool(self.eager == result)
            return Judgement(passed=same, check="bitwise" if same else "value", unjudged=self.unjudged)
        if not isinstance(result, torch.Tensor | float):
            return Judgement(passed=False, check="structure")
        dtype, result = _dtype(result), dense(result)
        if self.eager.shape != result.shape:
            return Judgement(passed=False, check="shape")
        if self.dtype != dtype:
            if not (self.rule.widen and self.dtype.is_floating_point and dtype.is_floating_point):
                return Judgement(passed=False, check="dtype", **differences(self.eager, result))
            result = result.to(torch.promote_types(self.eager.dtype, result.dtype))
        if not self.eager.is_floating_point():
            return self._judge_plain(result)
        return self._judge_numbers(result)

    def differs_beyond_eager(self, other: Any) -> bool:
        """Say whether another tensor differs by more than eager's own error: a loss may vary by less than its rule."""
        other = dense(other)
        if self.eager.shape != other.shape or not self.eager.is_floating_point():
            return not torch.equal(self.eager, other)
        eager, _, other = self._comparable(other)
        return not float(rmse(eager, other, None)) <= _APART * float(self.own.median())

    def _judge_plain(self, result: Any) -> Judgement:
        same = torch.equal(self.eager, result)
        passed = same or self.agrees(result)
        check = "bitwise" if same else "iou" if self._by_overlap else "allclose"
        numbers = (number.to(torch.uint8) if number.dtype == torch.bool else number for number in (self.eager, result))
        return Judgement(passed=passed, check=check, unjudged=self.unjudged, **differences(*numbers))

    def _judge_numbers(self, result: Any) -> Judgement:
        if not result.numel():
            return Judgement(passed=True, check="bitwise", unjudged=self.unjudged, max_abs=0.0)
        whole = result
        eager, reference, result = self._comparable(result)
        figures = differences(eager, result)
        figures["cosine"] = cosine(eager, result)
        errors, bounds = rmse(reference, result, self.rows), self._bounds()
        if self.double is not None:
            worst = int((errors / bounds.clamp_min(torch.finfo(torch.float64).tiny)).nan_to_num(math.inf).argmax())
            figures |= {"rmse": float(errors[worst]), "rmse_eager": float(self.own[worst])}
            if self.rows:
                first = worst * self.rows
                figures["samples"] = (first, min(first + self.rows, eager.shape[0]) - 1)
        figures |= {"tight": self.tight, "unjudged": self.unjudged}
        if not bool(torch.isfinite(result).all()) or not self._same_overflow(whole):
            # Whatever eager's error is: it has a number there, or both it and float64 have none.
            return Judgement(passed=False, check="finite", **(figures | {"unjudged": None}))
        if torch.equal(eager, result.to(eager.dtype)) and eager.dtype == result.dtype:
            return Judgement(passed=True, check="bitwise", **figures)
        if self._close(eager, result):
            return Judgement(passed=True, check="allclose", **figures)
        check = "cosine" if self.rule.cosine else "allclose" if self.double is None else "rmse"
        return Judgement(passed=self._near(eager, reference, result), check=check, **figures)

    def _same_overflow(self, result: Any) -> bool:
        """Say whether a result has infinity or NaN where eager and float64 have the same one.

        Where float64 has a number, eager's range or precision is too small, and another value may be right.
        """
        if self.unjudged == NOT_FINITE or (self.double is None and self.eager.dtype == torch.float16):
            return True
        eager, reference = self.eager, self.eager if self.double is None else self.double
        both_nan = eager.isnan() & reference.isnan()
        both_infinite = eager.isinf() & (eager == reference)
        return bool((result.isnan() | ~both_nan).all() and ((result == eager) | ~both_infinite).all())

    def _comparable(self, result: Any) -> tuple[Any, Any, Any]:
        """Return eager's, the reference's and the result's tensor with zeros where there is nothing to compare with."""
        eager = self.eager
        reference = eager if self.double is None else self.double
        known = torch.isfinite(eager) & torch.isfinite(reference)
        if bool(known.all()):
            return eager, reference.double(), result
        return tuple(torch.where(known, tensor, 0) for tensor in (eager, reference.double(), result))

    def with_own(self, least_scale: float) -> Yardstick:
        """Add eager's error by chunk: its distance from float64, else what its dtype's rounding makes."""
        if not self.eager.is_floating_point() or not self.eager.numel():
            return self
        eager, reference, _ = self._comparable(self.eager)
        own = rmse(reference, eager, self.rows)
        if self.double is None:
            rounding = _ROUNDINGS * torch.finfo(self.eager.dtype).eps
            own = torch.full_like(own, rounding * max(least_scale, largest(eager)))
        return replace(self, own=own)

    def relative(self) -> Yardstick:
        """Return the rule for a constant that eager computes exactly: the tolerance is relative to its value."""
        size = largest(self.eager)
        exact = self.own is not None and float(self.own.max()) <= _EXACT * self.rule.tolerance * size
        if self.unjudged != CONSTANT or not exact or not bool(self.eager.isfinite().all()):
            return self
        return replace(self, tight=True, scale=0.0, slack=min(self.slack, self.rule.tolerance * size / 10))

    def sharpened(self) -> Yardstick:
        """Return the rule that notices all mutations; one that cannot is not judged by."""
        eager, reference, _ = self._comparable(self.eager)
        own = float(self.own.median())
        wrong = [*mutations(eager, own), *self._unchanged(eager, own)]
        if not any(self.agrees(mutation) for mutation in wrong):
            return self
        size, rule = largest(reference), self.rule
        norm = float(reference.square().mean().sqrt()) or 1.0
        if self.double is None and own > STRENGTH * norm:
            return replace(self, unjudged=NOISE)
        distances = [float(rmse(reference, mutation, None)) for mutation in wrong]
        slack = min(rule.tolerance / 10, min(distances) / _FRACTION)
        if own <= _EXACT * rule.tolerance * size:
            slack = min(slack, rule.tolerance * size / 10)
        chance = 3 * own / norm / math.sqrt(reference.numel())
        sharper = replace(
            self,
            tight=True,
            scale=min(size, 1.0),
            slack=slack,
            gain=_GAIN + 2 * abs(gain(reference, eager) - 1) + chance,
        )
        ratios = [ratio(eager, mutation, sharper.scale) for mutation in wrong]
        if min(ratios) <= rule.tolerance:
            sharper = replace(sharper, tolerance=min(ratios) / _FRACTION)
        still = any(sharper.agrees(mutation) for mutation in wrong)
        return replace(sharper, unjudged=NOISE) if still else sharper

    def agrees(self, value: Any) -> bool:
        """Say whether a tensor of the right kind passes."""
        if self._by_overlap:
            return float((self.eager & value).sum() / (self.eager | value).sum()) >= (self.rule.iou or 0.0)
        if not self.eager.is_floating_point():
            return torch.equal(self.eager, value) or self._integers_agree(value)
        eager, reference, value = self._comparable(value)
        return self._close(eager, value) or self._near(eager, reference, value)

    def _close(self, eager: Any, result: Any) -> bool:
        """Compare element by element: as `same` does it, in the tensors' own dtype, unless the rule is tightened."""
        if self.tight:
            return ratio(eager, result, self.scale) <= self.tolerance
        if self.rule.cosine or eager.dtype != result.dtype:
            eager, result = eager.to(torch.float32), result.to(torch.float32)
        return bool(torch.allclose(eager, result, atol=self.tolerance, rtol=self.tolerance))

    def _near(self, eager: Any, reference: Any, result: Any) -> bool:
        """Compare as a whole, chunk by chunk: by cosine, or by how far eager is from float64."""
        if self.gain is not None and not abs(gain(reference, result) - 1) <= self.gain:
            return False
        if self.rule.cosine:
            cosines = [cosine(*pair) for pair in self._chunks(eager, result)]
            directed = all(score is not None and score >= COSINE for score in cosines)
            turned = self.tight and not bool((rmse(reference, result, None) <= self._turned()).all())
            return directed and not turned and not self._has_outlier(eager, reference, result)
        if self.double is None or self._has_outlier(eager, reference, result):
            return False
        return bool((rmse(reference, result, self.rows) <= self._bounds()).all())

    def _integers_agree(self, value: Any) -> bool:
        """Say whether integers or truth values differ from those of float64 about as often and as far as eager's do.

        A position or a rounded number turns where its value is near another one: in bfloat16, eager's own do.
        """
        if self.double is None:
            return False
        own, others = ((self.double.double() - numbers.double()).abs() for numbers in (self.eager, value))
        return bool(
            (others > 0).sum() <= _WHOLE_MULTIPLIER * (own > 0).sum() and largest(others) <= _OUTLIER * largest(own)
        )

    def _has_outlier(self, eager: Any, reference: Any, result: Any) -> bool:
        """Say whether an element is off by more than rounding explains: it is lost in the mean of a large tensor."""
        own = largest(self.own) if self.double is None else largest(reference - eager)
        size = largest(reference)
        bound = max(_OUTLIER * own, max(STRENGTH, self.tolerance) * size) + (0.0 if self.tight else self.tolerance)
        return largest(reference - result) > bound

    def _turned(self) -> float:
        """Return how far off a direction may be: so little that samples in another order, or no change, are noticed."""
        eager, reference, _ = self._comparable(self.eager)
        own = float(self.own.median())
        wrong = [*mutations(eager, own, rotated=True), *self._unchanged(eager, own)]
        return min((float(rmse(reference, mutation, None)) for mutation in wrong), default=math.inf) / _FRACTION

    def _unchanged(self, eager: Any, own: float) -> Iterator[Any]:
        """Yield what was there before the iteration, where that is told apart from what is there after it."""
        if self.before is not None and self.before.shape == eager.shape:
            before = self._comparable(self.before)[2].to(eager.dtype)
            if _difference(before, eager) > _ROWS_APART * own:
                yield before

    def _bounds(self) -> Any:
        """Return by chunk how far from float64 a result may be; a chunk in which eager is exact by chance has more."""
        return self._multiplier() * self.own.clamp_min(float(self.own.median())) + self.slack

    def _chunks(self, *tensors: Any) -> Iterator[tuple[Any, ...]]:
        if self.rows is None:
            yield tensors
        else:
            yield from zip(*(tensor.split(self.rows) for tensor in tensors), strict=True)

    def _multiplier(self) -> float:
        """Return how many times eager's error is allowed; noise dominates small tensors and 1x1 kernels."""
        if self.rule.max_multiplier:
            return 10.0
        eager = self.eager
        count = eager.numel() if self.rows is None else self.rows * eager[0].numel()
        if self.rule.larger_multiplier and count <= _SMALL:
            return 10.0 if count <= _TINY else 8.0
        kernel = eager.ndim == 4 and eager.shape[-1] == eager.shape[-2] == 1  # noqa: PLR2004 - a convolution's weight
        if count < _MEDIUM or kernel or self.rule.tolerance >= _LARGE_TOLERANCE:
            return 3.0
        return 3.0 if eager.dtype in (torch.float16, torch.bfloat16) else 2.0

    @property
    def _by_overlap(self) -> bool:
        return self.rule.iou is not None and bool(self.eager.dtype == torch.bool)


def _dtype(value: Any) -> Any:
    """Return the dtype of a tensor, or of the tensor that is made of a number."""
    return value.dtype if isinstance(value, torch.Tensor) else torch.float32


def _plain(eager: Any, reference: Any) -> str | None:
    """Return why a tensor is no evidence whatever rule it is judged by: it holds zeros, or one value everywhere."""
    if not eager.any() and (reference is None or not reference.any()):
        return ZEROS
    return CONSTANT if eager.numel() > 1 and bool((eager == eager.flatten()[0]).all()) else None
