"""The median of a series and its interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

MIN_INTERVAL_N = 6
"""Least number of samples for an interval: under six no pair of order statistics covers the median with 95 %."""


def median(values: Sequence[float]) -> float | None:
    """Return the median; None for an empty series."""
    return statistics.median(values) if values else None


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest symmetric pair of order statistics that covers the median with at least 95 %.

    Distribution-free: the number of samples below the median is Binomial(n, ½), so (x₍ₖ₎, x₍ₙ₊₁₋ₖ₎) covers it with
    1 - 2·P(B < k). Hahn and Meeker, Statistical Intervals (1991), section 5.2. None under six samples.
    """
    count = len(values)
    if count < MIN_INTERVAL_N:
        return None
    rank = lower_rank(count)
    ordered = sorted(values)
    return ordered[rank - 1], ordered[count - rank]


def half_width(values: Sequence[float]) -> float | None:
    """Return half the width of the median's interval as a share of the median; None without an interval."""
    interval = median_interval(values)
    middle = median(values)
    return (interval[1] - interval[0]) / 2 / middle if interval and middle else None


def lower_rank(count: int) -> int:
    """Return the largest k with P(Binomial(n, ½) < k) ≤ 2.5 %."""
    # Ranks beyond ten deviations add less than 10⁻²¹; a process may have tens of thousands of blocks.
    rank = max(0, math.floor(count / 2 - 5 * math.sqrt(count)))
    below, ways = 0.0, math.lgamma(count + 1) - math.lgamma(rank + 1) - math.lgamma(count - rank + 1)
    term = math.exp(ways - count * math.log(2))
    while below + term <= 0.025:  # noqa: PLR2004 - half of what 95 % leave
        below += term
        term *= (count - rank) / (rank + 1)
        rank += 1
    return rank
