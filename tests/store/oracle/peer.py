"""The times of one record under the rule of PyTorch/XLA's aggregator."""

from collections.abc import Sequence

import numpy as np

from store.report.peer import Datapoint

WARMUP_BLOCKS = 3


def execution(total_time: Sequence[float]) -> Datapoint | None:
    """Return mean ± sample deviation (ddof 1; 0 of one sample) of the blocks after the third; None without any."""
    samples = total_time[WARMUP_BLOCKS:]
    if not samples:
        return None
    return Datapoint(float(np.average(samples)), float(np.std(samples, ddof=1)) if len(samples) > 1 else 0.0)


def compilation(total_time: Sequence[float]) -> Datapoint | None:
    """Return the first block minus the mean of all others; the rule gives it no deviation."""
    if len(total_time) <= 1:
        return None
    return Datapoint(float(total_time[0] - np.average(total_time[1:])), 0.0)
