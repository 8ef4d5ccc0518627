"""What a change of a speedup is made of, and when a compiler has earned its compile time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Split(NamedTuple):
    """Factors whose product is the change of the speedup; above 1 raised it."""

    backend: Floats
    """The backend's own change: its old time / its new time."""
    baseline: Floats
    """The baseline's drift: its new time / its old time."""


def split_change(old_base: ArrayLike, old_time: ArrayLike, new_base: ArrayLike, new_time: ArrayLike) -> Split:
    """Split speedup_new / speedup_old, speedup = base / time: a speedup also moves when only its baseline does."""
    old_base, old_time, new_base, new_time = (
        np.asarray(each, float) for each in (old_base, old_time, new_base, new_time)
    )
    return Split(backend=old_time / new_time, baseline=new_base / old_base)


class BreakEven(NamedTuple):
    """Arrays over cases; `iterations` is NaN unless the outcome is `after`."""

    outcome: NDArray[np.str_]
    """`ahead from the start`, `after` or `never` (also where it starts ahead and loses it again)."""
    iterations: Floats


def break_even(wait_s: ArrayLike, time_s: ArrayLike, base_wait_s: ArrayLike, base_time_s: ArrayLike) -> BreakEven:
    """Say from which iteration on the whole work is done earlier than with the baseline.

    Args:
        wait_s: time to steady state beyond the steady iterations themselves.
        time_s: steady time of an iteration.
        base_wait_s: the same of the baseline.
        base_time_s: the same of the baseline.
    """
    wait, time, base_wait, base_time = (np.asarray(each, float) for each in (wait_s, time_s, base_wait_s, base_time_s))
    behind, gain = wait - base_wait, base_time - time
    ahead = (behind <= 0) & (gain >= 0)
    after = ~ahead & (gain > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        iterations = np.where(after, np.floor(behind / gain) + 1, np.nan)
    return BreakEven(np.where(ahead, "ahead from the start", np.where(after, "after", "never")), iterations)
