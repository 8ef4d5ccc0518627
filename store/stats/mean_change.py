"""The verdict on how a geometric mean of speedups moved between two runs: suspected at most, as they took no turns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from store.stats.geomean import MIN_INTERVAL_N
from store.stats.verdicts import Verdict, Word

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
        return "ambiguous", "the interval over results holds 1 and reaches beyond the noise floor"
    if abs(math.log(change)) <= bound:
        return "ambiguous", f"clear of 1, but not above the noise floor of {floor:.1%}"
    word: Word = "faster" if change > 1 else "slower"
    return word, f"clear of 1 and above the noise floor of {floor:.1%}; {_TURNS}"


class SpeedupChange(NamedTuple):
    """How a mean speedup moved between two runs, split into the backend's own time and the baseline's."""

    before: float
    after: float
    n: int
    """Results with a speedup in both runs."""
    backend: Verdict
    """On the backend's own time: above 1 it became faster."""
    baseline: Verdict
    """On the baseline's own time: above 1 it became faster, which lowers every speedup over it."""

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
    """Return a number of a frame; None for a missing one."""
    return None if value is None or value != value else float(value)  # noqa: PLR0124 - NaN
