"""What the way to the steady state costs; these numbers are never added to each other."""

from collections.abc import Sequence


def first_iteration(first_s: float, steady_median_s: float) -> float:
    """Return the first block's time beyond a steady one, seconds; below zero where the first was no slower."""
    return first_s - steady_median_s


def time_to_steady(warmup_s: Sequence[float], steady_median_s: float, loops: Sequence[int]) -> float:
    """Return what a user waits beyond steady speed over all warm-up blocks, the first included, seconds.

    Args:
        warmup_s: time of one repetition of each block.
        steady_median_s: that of a steady one.
        loops: how often each block repeated.
    """
    return sum((block - steady_median_s) * times for block, times in zip(warmup_s, loops, strict=True))
