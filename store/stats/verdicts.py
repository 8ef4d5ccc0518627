"""Five verdicts on a difference, each with its reason: faster, slower, same, ambiguous, not comparable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from store.stats.effects import LEVEL, Effects, false_discovery

Word = Literal["faster", "slower", "same", "ambiguous", "not comparable"]
CONTAINS_1 = "the interval contains 1 and reaches beyond the noise floor"
"""Reason of a cell whose interval over processes shows neither a difference nor that there is none."""
FALSE_DISCOVERY_RATE = 0.05
CONFIRMING_PROCESSES = 3
MAX_NEEDED = 999


@dataclass(frozen=True)
class Verdict:
    """A verdict and its reason; `ratio` is base time / new time with its interval (95 %; wider after several looks)."""

    word: Word
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    q: float | None = None
    """The p-value adjusted for the number of cells that are judged together (Benjamini-Hochberg)."""
    floor: float | None = None
    processes: int = 0
    confirmed: bool = False
    """Whether both sides were measured interleaved by enough processes; else faster and slower are only suspected."""
    needed: int | None = None
    """Estimated number of processes that would settle an ambiguous cell; None if unknown."""


def judge(
    effects: Effects,
    floors: ArrayLike,
    incomparable: Sequence[str | None],
    *,
    interleaved: bool | Sequence[bool],
) -> list[Verdict]:
    """Judge all cells of one comparison together.

    Faster or slower needs three things: an interval clear of 1, an effect above the noise floor, and an adjusted p
    below 5 %, or the part of it that belongs to the level of the intervals. Same needs the whole interval within the
    floor. Everything else is ambiguous, which is no failure.

    Args:
        effects: effects of all cells.
        floors: noise floor of each cell, ratio minus one.
        incomparable: per cell the reason why the sides must not be compared, or None.
        interleaved: whether both sides took turns in one run, for all cells or for each; else differences are only
            suspected.
    """
    floor = np.broadcast_to(np.asarray(floors, float), effects.log_ratio.shape)
    turns = np.broadcast_to(np.asarray(interleaved, bool), effects.log_ratio.shape)
    usable = np.array([reason is None for reason in incomparable], bool)
    adjusted = false_discovery(np.where(usable, effects.p, np.nan))
    verdicts = []
    for cell, reason in enumerate(incomparable):
        if reason is not None or not math.isfinite(effects.low[cell]):
            verdicts.append(Verdict("not comparable", reason or "one side has no steady samples"))
        else:
            took_turns = bool(turns[cell])
            verdicts.append(_judge(effects, cell, float(adjusted[cell]), float(floor[cell]), interleaved=took_turns))
    return verdicts


def _judge(effects: Effects, cell: int, q: float, floor: float, *, interleaved: bool) -> Verdict:
    low, high, effect = (float(array[cell]) for array in (effects.low, effects.high, effects.log_ratio))
    processes = int(effects.processes[cell])
    word, reason = _word(low, high, effect, q, floor, rate_of(effects.level))
    confirmed = word in ("faster", "slower") and interleaved and processes >= CONFIRMING_PROCESSES
    if word in ("faster", "slower") and not confirmed:
        reason += "; suspected: " + _why_suspected(processes, interleaved=interleaved)
    return Verdict(
        word=word,
        reason=reason,
        ratio=math.exp(effect),
        low=math.exp(low),
        high=math.exp(high),
        q=q,
        floor=floor,
        processes=processes,
        confirmed=confirmed,
        needed=needed_processes(effects, cell, floor) if word == "ambiguous" else None,
    )


def rate_of(level: float) -> float:
    """Return the false discovery rate for intervals of a confidence level."""
    return FALSE_DISCOVERY_RATE * (1 - level) / (1 - LEVEL)


def _word(low: float, high: float, effect: float, q: float, floor: float, rate: float) -> tuple[Word, str]:
    bound = math.log1p(floor)
    if -bound <= low and high <= bound:
        return "same", f"the whole interval lies within the noise floor of {floor:.1%}"
    if low <= 0 <= high:
        return "ambiguous", CONTAINS_1
    if abs(effect) <= bound:
        return "ambiguous", f"the interval excludes 1, but the difference is not above the noise floor of {floor:.1%}"
    if q >= rate:
        why = "the difference is not significant among all cells judged together"
        return "ambiguous", f"the interval excludes 1, but {why} (q = {q:.2g})"
    word: Word = "faster" if effect > 0 else "slower"
    return word, f"the interval excludes 1, and the difference is above the noise floor of {floor:.1%} (q = {q:.2g})"


def _why_suspected(processes: int, *, interleaved: bool) -> str:
    if not interleaved:
        return "the sides were not interleaved; measure both again in one run to confirm it"
    took = "1 process of each side took turns" if processes == 1 else f"{processes} processes of each side took turns"
    return f"only {took}, and a confirmation needs {CONFIRMING_PROCESSES}"


def needed_processes(effects: Effects, cell: int, floor: float) -> int | None:
    """Return how many processes would settle the cell, if its effect and scatter are what they seem; None if never.

    An effect above the floor needs an interval clear of 1, one below needs an interval inside the floor.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 (measuring environments need no scipy)

    effect, bound = abs(float(effects.log_ratio[cell])), math.log1p(floor)
    reach = effect if effect > bound else bound - effect
    have = int(effects.processes[cell])
    scatter = float(effects.std_error[cell]) * math.sqrt(have)
    extra = float(effects.freedom[cell]) - have
    for count in range(have + 1, MAX_NEEDED + 1):
        if stdtrit(count + extra, (1 + effects.level) / 2) * scatter / math.sqrt(count) < reach:
            return count
    return None
