"""When a warm-up has reached the steady state (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FEW_BLOCKS = 5
"""Under five blocks even the whole range is no 95 % interval of the median (2 / 2⁵ = 6 %)."""
SMALL_CHANGE = 0.05
"""A relative change of the half-window medians that is no trend even where the ranges do not overlap."""


def has_trend(times: Sequence[float]) -> bool:
    """Say whether the newer half of the times lies apart from the older half.

    Two halves whose ranges overlap show no trend; neither do two whose midpoints differ by at most 5 %.

    Args:
        times: at least two block times, seconds, oldest first.
    """
    middle = len(times) // 2
    old, new = times[:middle], times[middle:]
    if max(new) >= min(old) and max(old) >= min(new):
        return False
    old_mid, new_mid = (max(old) + min(old)) / 2, (max(new) + min(new)) / 2
    return abs(new_mid - old_mid) > SMALL_CHANGE * old_mid


def is_steady(times: Sequence[float], compiles: Sequence[int | None], minimum: int, window: int) -> bool:
    """Say whether the last `window` blocks are steady: enough blocks, no compilation, no trend.

    Args:
        times: block times so far, seconds, the first (with compilation) included.
        compiles: compilations per block; None where the backend reports none.
        minimum: blocks to take in any case.
        window: blocks that have to agree.
    """
    if len(times) < max(minimum, window + 1):
        return False
    if any(compiles[-window:]):
        return False
    return not has_trend(times[-window:])


def steady_start(times: Sequence[float], compiles: Sequence[int | None], window: int) -> int | None:
    """Return where the steady state begins in a fixed number of blocks, or None where it never does.

    The first block is never steady; from the returned index on nothing compiles, no block stands out as the slow
    end of the warm-up, and where `window` blocks are left, they show no trend. Fewer than `FEW_BLOCKS` without a
    compilation cannot show that anything is not steady: they are taken as they are, and the finding `few_blocks`
    marks them.
    """
    last_compile = max((index for index, count in enumerate(compiles) if count), default=0)
    first = max(1, last_compile + 1)
    for start in range(first, len(times) - 1):
        rest = times[start:]
        slow_end = rest[0] > (1 + SMALL_CHANGE) * max(rest[1:])
        if not slow_end and (len(rest) < window or not has_trend(rest)):
            return start
    return first if 0 < len(times) - first < FEW_BLOCKS else None
