"""What a change of a speedup is made of, and when a compiler has earned its compile time."""

from __future__ import annotations

import math
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
    """`iterations` is None unless the outcome is `after`."""

    outcome: str
    """`ahead from the start`, `after` or `never` (also where it starts ahead and loses it again)."""
    iterations: int | None = None


def break_even(wait_s: float, time_s: float, base_wait_s: float, base_time_s: float) -> BreakEven:
    """Say from which iteration on the whole work is done earlier than with the baseline.

    Args:
        wait_s: time to steady state beyond the steady iterations themselves.
        time_s: steady time of an iteration.
        base_wait_s: the same of the baseline.
        base_time_s: the same of the baseline.
    """
    behind, gain = wait_s - base_wait_s, base_time_s - time_s
    if behind <= 0 and gain >= 0:
        return BreakEven("ahead from the start")
    if gain <= 0:
        return BreakEven("never")
    return BreakEven("after", math.floor(behind / gain) + 1)
