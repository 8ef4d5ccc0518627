"""Geometric means of ratios with intervals, the spread behind them, and the verdict on their change between runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from store.stats.verdicts import Verdict, Word

MIN_INTERVAL_N = 3
"""Least number of ratios for an interval: with two, Student's t is 12.7 and the interval says nothing."""


class Geomean(NamedTuple):
    """A geometric mean of positive ratios; the 95 % interval is None under `MIN_INTERVAL_N`."""

    value: float
    low: float | None
    high: float | None


def geomean(ratios: Sequence[float]) -> Geomean | None:
    """Return exp(mean of logs) with the 95 % interval of the log mean (Student's t); None without ratios.

    Raises:
        ValueError: a ratio is not positive, so it has no logarithm.
    """
    if not ratios:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    count = len(logs)
    if count < MIN_INTERVAL_N:
        return Geomean(math.exp(mean), None, None)
    half = t_quantile(count - 1) * statistics.stdev(logs) / math.sqrt(count)
    return Geomean(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


@cache
def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415 (the runner imports this package and needs no scipy)

    return float(stdtrit(freedom, 0.975))


class Ratio(NamedTuple):
    """A model's speedup; the ends of its 95 % interval are None where there is none."""

    model: str
    value: float
    low: float | None
    high: float | None

    @property
    def word(self) -> str:
        """Return `faster` or `slower` for an interval clear of 1, `same` for one that holds it, else `unknown`."""
        if self.low is None or self.high is None:
            return "unknown"
        return "faster" if self.low > 1 else "slower" if self.high < 1 else "same"


class Spread(NamedTuple):
    """The ratios behind a geometric mean."""

    models: tuple[str, ...]
    median: float
    faster: int
    slower: int
    same: int
    """Number of models whose interval contains 1."""
    unknown: int
    """Number of models without an interval."""
    outlier: str | None
    """The model farthest from the median; None under three models."""
    without: float | None
    """Geometric mean of the others."""


def spread(ratios: Sequence[Ratio]) -> Spread | None:
    """Return the spread of these ratios; None without ratios."""
    if not ratios:
        return None
    logs = [math.log(ratio.value) for ratio in ratios]
    middle, words = statistics.median(logs), [ratio.word for ratio in ratios]
    outlier, without = None, None
    if len(ratios) >= MIN_INTERVAL_N:
        farthest = max(range(len(logs)), key=lambda at: abs(logs[at] - middle))
        outlier = ratios[farthest].model
        without = math.exp((sum(logs) - logs[farthest]) / (len(logs) - 1))
    return Spread(
        models=tuple(ratio.model for ratio in ratios),
        median=math.exp(middle),
        faster=words.count("faster"),
        slower=words.count("slower"),
        same=words.count("same"),
        unknown=words.count("unknown"),
        outlier=outlier,
        without=without,
    )


MOVED = ("faster", "slower")
_TURNS = "suspected: the runs were not interleaved"


def judge_mean(change: float | None, low: float | None, high: float | None, n: int, floor: float) -> Verdict:
    """Judge a change (after / before, above 1 better) by its interval over results and the noise floor.

    The same three words as for one cell: same needs the whole interval within the floor; faster and slower need an
    interval clear of 1 and an effect above the floor. Under three results there is no interval and no verdict.
    """
    if change is None or n == 0:
        return Verdict("not comparable", "no result has a speedup in both runs")
    if low is None or high is None:
        return Verdict("ambiguous", f"n = {n}: under {MIN_INTERVAL_N} results there is no interval", change)
    word, reason = _word(change, low, high, floor)
    return Verdict(word, reason, change, low, high, floor=floor)


def _word(change: float, low: float, high: float, floor: float) -> tuple[Word, str]:
    bound = math.log1p(floor)
    if -bound <= math.log(low) and math.log(high) <= bound:
        return "same", f"the whole interval lies within the noise floor of {floor:.1%}"
    if low <= 1 <= high:
        return "ambiguous", "the interval over results contains 1 and reaches beyond the noise floor"
    if abs(math.log(change)) <= bound:
        return "ambiguous", f"the interval excludes 1, but the change is not above the noise floor of {floor:.1%}"
    word: Word = "faster" if change > 1 else "slower"
    return word, f"the interval excludes 1, and the change is above the noise floor of {floor:.1%}; {_TURNS}"


class SpeedupChange(NamedTuple):
    """The change of a mean speedup between two runs, split into the backend's own time and the baseline's."""

    before: float
    after: float
    n: int
    """Results with a speedup in both runs."""
    backend: Verdict
    """Verdict on the backend's own time: above 1 it became faster."""
    baseline: Verdict
    """Verdict on the baseline's own time: above 1 it became faster, which lowers every speedup over it."""

    @property
    def by_baseline_only(self) -> bool:
        """Whether the baseline's time moved and the backend's did not."""
        return self.baseline.word in MOVED and self.backend.word not in MOVED


def judge_speedup(row: Any, floor: float) -> SpeedupChange | None:
    """Split the change of a mean speedup and judge both parts; None where no result has a speedup in both runs.

    A speedup also moves when only its baseline does, so the verdict is on the times and never on their quotient.

    Args:
        row: of macro `geomean_changes`, its columns as attributes.
        floor: noise floor of the machine, ratio minus one.
    """
    n = _number(row.n)
    if not n:
        return None
    own = [_number(value) for value in (row.by_backend, row.by_backend_low, row.by_backend_high)]
    base = [_number(value) for value in (row.by_baseline, row.by_baseline_high, row.by_baseline_low)]
    base = [1 / value if value else None for value in base]
    return SpeedupChange(
        before=float(row.geomean_before),
        after=float(row.geomean_after),
        n=int(n),
        backend=judge_mean(own[0], own[1], own[2], int(n), floor),
        baseline=judge_mean(base[0], base[1], base[2], int(n), floor),
    )


def _number(value: Any) -> float | None:
    """Return a number of a frame; None if it is missing."""
    return None if value is None or value != value else float(value)  # noqa: PLR0124 - NaN
