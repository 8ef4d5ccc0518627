"""Geometric mean of ratios, with its interval."""

from __future__ import annotations

import math
import statistics
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


MIN_INTERVAL_N = 3
"""With two ratios Student's t is 12.7: an interval over decades says nothing that n does not."""


class Geomean(NamedTuple):
    """A geometric mean of `n` positive ratios; the 95 % interval is None under `MIN_INTERVAL_N`."""

    value: float
    low: float | None
    high: float | None
    n: int


def geomean(ratios: Sequence[float]) -> Geomean | None:
    """Return exp(mean of logs) with the 95 % interval of the log mean (Student's t); None of none.

    Raises:
        ValueError: a ratio is not positive, so it has no logarithm.
    """
    if not ratios:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    count = len(logs)
    if count < MIN_INTERVAL_N:
        return Geomean(math.exp(mean), None, None, count)
    half = t_quantile(count - 1) * statistics.stdev(logs) / math.sqrt(count)
    return Geomean(math.exp(mean), math.exp(mean - half), math.exp(mean + half), count)


@cache
def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415 (the runner imports this package and needs no scipy)

    return float(stdtrit(freedom, 0.975))
