"""Where a series of latencies changed for good: candidates by PELT, each confirmed by a test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from store.stats.shift import shift_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LAST_POINTS = 120
"""Runs that are looked at: older ones change no decision of today, and the search is quadratic."""
MIN_POINTS = 10
"""Under ten runs no split of them can have a p-value below the one that is asked for."""
MIN_SEGMENT = 3
MAX_P = 0.01
MIN_CHANGE = 0.03
"""A change of less than 3 % is within what differs between two days."""
_MAD_TO_SIGMA = 1.4826


class Change(NamedTuple):
    """A confirmed change before point `at`; times are medians of the segments on either side, which have n points."""

    at: int
    before_s: float
    after_s: float
    ratio: float
    low: float | None
    high: float | None
    before_n: int
    after_n: int
    p_value: float


def changes(latencies: Sequence[float]) -> list[Change]:
    """Return the confirmed changes of positive latencies in order of time.

    PELT with the L1 cost on logarithms, penalty 2 ln(n) times the noise, which the differences from run to run tell.
    A candidate stays where its two sides differ by 3 % and by Mann and Whitney's test; one that fails is removed, its
    sides become one, and the others are tested anew.
    """
    if len(latencies) < MIN_POINTS:
        return []
    logs = np.log(np.asarray(latencies, dtype=np.float64))
    return _confirmed(logs, _candidates(logs))


def _candidates(logs: Floats) -> list[int]:
    import ruptures  # noqa: PLC0415 (it takes a second, and few ingests need it)

    search = ruptures.Pelt(custom_cost=_cost(logs), min_size=MIN_SEGMENT, jump=1)
    cuts: list[int] = search.fit(logs).predict(pen=2 * math.log(len(logs)) * _sigma(logs))
    return cuts[:-1]


def _sigma(logs: Floats) -> float:
    """Return the noise of one point; steps hardly touch the differences' median. Never 0: a penalty has to cost."""
    differences = np.diff(logs)
    deviation = float(np.median(np.abs(differences - np.median(differences))))
    return max(_MAD_TO_SIGMA * deviation / math.sqrt(2), 1e-6)


def _cost(logs: Floats) -> object:
    """Return ruptures' L1 cost with all segments computed at once: ten times faster than one median at a time."""
    from ruptures.base import BaseCost  # noqa: PLC0415 (as above)

    table = _absolute_deviations(logs)

    class Cost(BaseCost):  # type: ignore[misc] # the library has no types
        model = "l1"
        min_size = 1

        def fit(self, signal: Floats) -> Cost:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            return float(table[start, end])

    return Cost()


def _absolute_deviations(values: Floats) -> Floats:
    """Return at [start, end] the sum of absolute deviations of that segment from its median."""
    count = len(values)
    table = np.zeros((count + 1, count + 1))
    for length in range(1, count + 1):
        windows = np.sort(sliding_window_view(values, length), axis=1)
        half = length // 2
        sums = windows[:, length - half :].sum(axis=1) - windows[:, :half].sum(axis=1)
        starts = np.arange(count - length + 1)
        table[starts, starts + length] = sums
    return table


def _confirmed(logs: Floats, cuts: list[int]) -> list[Change]:
    while True:
        bounds = [0, *cuts, len(logs)]
        found = [_change(logs, start, at, end) for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False)]
        doubtful = [each for each in found if each.p_value >= MAX_P or _size(each) < math.log1p(MIN_CHANGE)]
        if not doubtful:
            return found
        weakest = min(doubtful, key=lambda each: (_size(each), -each.p_value))
        cuts = [cut for cut in cuts if cut != weakest.at]


def _size(change: Change) -> float:
    return abs(math.log(change.ratio))


def _change(logs: Floats, start: int, at: int, end: int) -> Change:
    from scipy.stats import mannwhitneyu  # noqa: PLC0415 (as above)

    before, after = logs[start:at], logs[at:end]
    middle, later = float(np.median(before)), float(np.median(after))
    low, high = shift_interval(before, after)
    return Change(
        at=at,
        before_s=math.exp(middle),
        after_s=math.exp(later),
        ratio=math.exp(later - middle),
        low=None if low is None else math.exp(low),
        high=None if high is None else math.exp(high),
        before_n=len(before),
        after_n=len(after),
        p_value=float(mannwhitneyu(before, after).pvalue),
    )
