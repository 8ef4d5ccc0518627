"""The verdict on how a geometric mean of speedups moved between two runs: suspected at most, as they took no turns."""

from __future__ import annotations

import math

from store.stats.geomean import MIN_INTERVAL_N
from store.stats.verdicts import Verdict, Word

_TURNS = "suspected: the runs did not take turns"


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
