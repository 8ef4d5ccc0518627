"""Bounds of a rate from a count."""

from __future__ import annotations


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided interval of a rate (Clopper and Pearson 1934); (0, 1) without trials."""
    from scipy.special import betaincinv  # noqa: PLC0415 (measuring environments need no scipy)

    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return low, high
