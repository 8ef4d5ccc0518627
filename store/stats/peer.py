"""PyTorch/XLA's own rule (`benchmarks/aggregate.py`): what it takes from the timed blocks of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

WARMUP_BLOCKS = 3
"""The first block includes compilation, the second and third warm the caches."""


class Datapoint(NamedTuple):
    """A mean and the standard deviation of its samples, in seconds or without unit for a ratio."""

    avg: float
    std: float


def steady(total_time: Sequence[float]) -> Sequence[float]:
    """Return the blocks that the rule counts."""
    return total_time[WARMUP_BLOCKS:]


def execution(total_time: Sequence[float]) -> Datapoint | None:
    """Return mean ± sample deviation (ddof 1; 0 of one sample) of the blocks after the third; None without any."""
    samples = steady(total_time)
    if not samples:
        return None
    return Datapoint(float(np.average(samples)), float(np.std(samples, ddof=1)) if len(samples) > 1 else 0.0)


def compilation(total_time: Sequence[float]) -> Datapoint | None:
    """Return the first block minus the mean of all others; the rule gives it no deviation."""
    if len(total_time) <= 1:
        return None
    return Datapoint(float(total_time[0] - np.average(total_time[1:])), 0.0)
