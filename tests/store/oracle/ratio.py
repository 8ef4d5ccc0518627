"""Speedup of one series over another, with its interval."""

import math
from typing import NamedTuple


class Estimate(NamedTuple):
    """A positive value with its 95 % interval; bounds are None where too few samples carry one."""

    value: float
    low: float | None
    high: float | None


def speedup(baseline: Estimate, experiment: Estimate) -> Estimate:
    """Return baseline / experiment; the interval joins both sides' on the log scale.

    Method of variance estimates recovery for a difference of two independent estimates with asymmetric intervals:
    Zou and Donner, Statistics in Medicine 27 (2008) 1693, applied to log(baseline) - log(experiment).
    """
    value = baseline.value / experiment.value
    bounds = (baseline.low, baseline.high, experiment.low, experiment.high)
    if any(bound is None or bound <= 0 for bound in bounds):
        return Estimate(value, None, None)
    base_low, base_high, own_low, own_high = (math.log(bound) for bound in bounds if bound)
    base, own = math.log(baseline.value), math.log(experiment.value)
    down = math.hypot(base - base_low, own_high - own)
    up = math.hypot(base_high - base, own - own_low)
    return Estimate(value, value * math.exp(-down), value * math.exp(up))
