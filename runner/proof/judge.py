"""Judge what the passes of a timing proof took: do the reported times hold all of the work?"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from store.record import Proof

if TYPE_CHECKING:
    from collections.abc import Sequence

RULE = 1
"""Version of the proof: one that was kept under another version is taken again."""
LIMIT = 0.2
"""How far the time of an iteration may be from the reported one, as a share of it."""
OVERLAP_S = 1e-3
"""Launching, tracing and waiting of an honest iteration may overlap with the one before: so much is no skipped work."""
STEPS = (1, 2, 4)
"""Lengths of the passes, in units of the shortest one."""

Verdict = Literal["passed", "failed", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Passes of n, 2n and 4n iterations, and the reported times between them."""

    reported_s: float
    """Median of the blocks that were timed as for a result, per iteration."""
    seconds: tuple[float, ...]
    """Seconds of each pass, until the device had finished."""
    unfinished_s: tuple[float, ...]
    """For each pass, how much longer its last output took to read than the same output read again."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What fits the times of the passes: `fixed_s` + `slope_s` · iterations."""

    fixed_s: float
    slope_s: float
    bend_s: float
    """How much longer the middle pass took than a line through the outer two says."""


def line(counts: Sequence[int], seconds: Sequence[float]) -> Line:
    """Fit a line by least squares."""
    fit = statistics.linear_regression(counts, seconds)
    (first, middle, last), (first_s, middle_s, last_s) = counts, seconds
    between_s = first_s + (last_s - first_s) * (middle - first) / (last - first)
    return Line(fixed_s=fit.intercept, slope_s=fit.slope, bend_s=middle_s - between_s)


def judge(shortest: int, repetitions: Sequence[Repetition], wrong: str | None, *, sees: bool) -> Proof:
    """Return the proof.

    Args:
        shortest: iterations of the shortest pass.
        repetitions: what was timed.
        wrong: the first output that was not eager's when its clock had stopped, or None.
        sees: whether that comparison tells outputs of other inputs apart.
    """
    counts = [shortest * step for step in STEPS]
    lines = [line(counts, each.seconds) for each in repetitions]
    reported = statistics.median(each.reported_s for each in repetitions)
    found = Proof(
        verdict="passed",
        rule=RULE,
        taken_at=time.time(),
        iterations=shortest,
        reported_s=reported,
        slope_s=statistics.median(each.slope_s for each in lines),
        fixed_s=statistics.median(each.fixed_s for each in lines),
        unfinished_s=statistics.median(statistics.median(each.unfinished_s) for each in repetitions),
        outputs_equal=wrong is None,
    )
    if wrong is not None:
        found.verdict = "failed"
        found.reason = (
            f"when the clock stops, {wrong} of the last iteration is not eager's: its work is not done, or is wrong"
        )
        return found
    if not sees:
        found.verdict, found.reason = "unknown", "the outputs of different inputs are alike, so nothing can be told"
        return found
    verdicts = _of_times(found, repetitions, lines)
    for verdict in ("failed", "unknown"):
        reason = next((reason for each, reason in verdicts if each == verdict), None)
        if reason is not None:
            found.verdict, found.reason = verdict, reason
            break
    return found


def _of_times(found: Proof, repetitions: Sequence[Repetition], lines: Sequence[Line]) -> list[tuple[Verdict, str]]:
    """Return each verdict about the times with what is to be said where they do not pass."""
    shortest, reported = found.iterations or 1, found.reported_s or 0.0
    counts = [shortest * step for step in STEPS]
    off = [each.slope_s / reported - 1 for each in lines]
    bends = [each.bend_s / (counts[1] * reported) for each in lines]
    unfinished = [statistics.median(each.unfinished_s) / reported for each in repetitions]
    slopes = f"a further iteration takes {_ms(found.slope_s)}, and {_ms(reported)} are reported"
    late = f"when the clock has stopped, the last output is not there for another {_ms(found.unfinished_s)}"
    bent = f"the times of {counts[0]}, {counts[1]} and {counts[2]} iterations do not lie on a line"
    return [
        (_of(off), f"{slopes}: work is left out"),
        (_skipped(found, [-each for each in off]), f"{slopes}: iterations are skipped, or they overlap"),
        (_of(bends), bent),
        (_of([-each for each in bends]), bent),
        (_of(unfinished), f"{late}; {_ms(reported)} are reported for an iteration"),
    ]


def _of(shares: Sequence[float]) -> Verdict:
    """Judge shares that should be small: what is beyond the limit each time has failed, what is at times is unknown."""
    if min(shares) > LIMIT:
        return "failed"
    return "passed" if statistics.median(shares) <= LIMIT else "unknown"


def _skipped(found: Proof, shares: Sequence[float]) -> Verdict:
    """Judge by how much further iterations are shorter than reported; what may be overlap fails nobody."""
    verdict = _of(shares)
    small = (found.reported_s or 0.0) - (found.slope_s or 0.0) <= OVERLAP_S
    return "unknown" if verdict == "failed" and small else verdict


def _ms(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds * 1e3:.3g} ms"
