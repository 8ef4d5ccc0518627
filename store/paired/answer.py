"""The answer of a run, one sentence per model and test: the fastest backend, by how much, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from store.errors import shortened
from store.metrics.text import interval_text
from store.paired.judged import ComparedExperiment, Judged
from store.stats.verdicts import CONFIRMING_PROCESSES, CONTAINS_1

TIMES = "\N{MULTIPLICATION SIGN}"
DISTURBED = "disturbed"
"""Status of a result of which too many turns were disturbed by other programs."""
RETRY = "measure again with --retry-failed"
_FAILURES = {
    DISTURBED: "is refused",
    "skipped": "was skipped",
    "not_run": "was not measured",
    "never_steady": "never became steady",
    "verify_only": "was verified, not timed",
}
"""Status → words of the sentence; results with another status failed."""
MOST_PROCESSES = 30
"""The answer suggests no more processes: they take 1.5 hours for a model of one minute under three backends."""
_FAR_APART = 2
"""Bounds of a speedup by a larger factor say nothing of its size."""
_NAMED_MISSED = 3
"""Experiments that a run did not reach and that are named; an interrupted run of all models has hundreds."""
_LONGEST_REASON = 160
_TWO_DECIMALS_BELOW = 10
_NO_DECIMALS_FROM = 100


def answers(experiments: Iterable[ComparedExperiment], baseline: str) -> tuple[str, ...]:
    """Return a sentence for each experiment, in this order; the baseline is called as a reader knows it."""
    every = list(experiments)
    missed = [experiment for experiment in every if _is_missed(experiment)]
    if len(missed) <= _NAMED_MISSED:
        return tuple(f"{experiment.name}: {_answer(experiment, baseline)}." for experiment in every)
    answered = tuple(
        f"{experiment.name}: {_answer(experiment, baseline)}." for experiment in every if not _is_missed(experiment)
    )
    named = ", ".join(experiment.name for experiment in missed[:_NAMED_MISSED])
    more = f"{named} and {len(missed) - _NAMED_MISSED} more"
    return (*answered, f"{more}: no answer: not measured so far; if the run has ended, repeat its command to continue.")


def _is_missed(experiment: ComparedExperiment) -> bool:
    """Tell whether a run has not measured anything of an experiment: it goes on, or it has ended early."""
    statuses = {result.row["status"] for result in experiment.results}
    return "not_run" in statuses and statuses <= {"not_run", "skipped"}


def _answer(experiment: ComparedExperiment, baseline: str) -> str:
    compared = [result for result in experiment.results if result.row["speedup"] is not None and not result.is_baseline]
    silent = [result for result in experiment.results if result.row["speedup"] is None and not result.is_baseline]
    within = [f"{result.variant} is {bounded}" for result in experiment.results if (bounded := bound(result))]
    if not compared and within:
        return f"only bounds, as other programs disturbed it: {', '.join(within)} than {baseline}; {RETRY}"
    if not compared:
        return f"no answer: {_why_none(experiment, baseline, silent)}"
    faster = [result for result in compared if result.word == "faster"]
    sentence = _fastest(faster, compared, baseline) if faster else _none_faster(compared, baseline)
    return "; ".join([sentence, *_without_a_number(silent, within)])


def _why_none(experiment: ComparedExperiment, baseline: str, silent: Sequence[Judged]) -> str:
    base = experiment.baseline
    if all(result.row["status"] == "verify_only" for result in experiment.results):
        return "answers were verified, nothing was timed"
    if base is None:
        return f"{baseline} was not measured"
    if not base.row["valid"]:
        return _failure(base)
    if silent:
        return "; ".join(_failure(result) for result in silent)
    return f"{baseline} alone was measured"


def _failure(result: Judged) -> str:
    """Return why a result has no valid number, or one that cannot be compared, and what to do."""
    row = result.row
    if row["valid"]:
        return f"{result.variant} {'is' if result.standing == 'not comparable' else 'has'} {row['speedup_reason']}"
    if result.failure == "wrong answer":
        return f"{result.variant} gave a wrong answer"
    words = _FAILURES.get(row["status"], f"failed ({result.failure})")
    reason = _one_line(row["reason"] or "")
    if row["status"] == DISTURBED:  # the table says what would help
        return f"{result.variant} {words}: {reason.removeprefix('refused: ').partition(';')[0]}; {RETRY}"
    return f"{result.variant} {words}: {reason}" if reason else f"{result.variant} {words}"


def _one_line(text: str) -> str:
    return shortened(text.strip().partition("\n")[0].rstrip("."), _LONGEST_REASON)


def _without_a_number(silent: Sequence[Judged], within: Sequence[str]) -> list[str]:
    """Say between what the speedups of disturbed results lie, and which results have nothing."""
    unknown = ", ".join(f"{result.variant} ({result.standing})" for result in silent if not bound(result))
    listed = [f"{sentence} (disturbed)" for sentence in within] + ([f"no number for {unknown}"] if unknown else [])
    return [*listed, RETRY] if any(result.row["status"] == DISTURBED for result in silent) else listed


def bound(result: Judged) -> str | None:
    """Return between what factors a disturbed result is faster or slower than its baseline; None where that is open.

    The waits of its threads bound its time on a quiet machine (docs/busy-machine.md says how well). If the bounds lie
    far apart, the text has only the nearer one.
    """
    least, most = result.row["speedup_at_least"], result.row["speedup_at_most"]
    if least is None or most is None or result.row["speedup"] is not None:
        return None
    word, low, high = ("faster", least, most) if least > 1 else ("slower", 1 / most, 1 / least)
    low, high = math.floor(low * 100) / 100, math.ceil(high * 100) / 100  # never more than is known
    if low <= 1:
        return None
    if high / low > _FAR_APART:
        return f"at least {_digits(low)}{TIMES} {word}"
    return f"between {_digits(low)}{TIMES} and {_digits(high)}{TIMES} {word}"


def _fastest(faster: Sequence[Judged], compared: Sequence[Judged], baseline: str) -> str:
    """Name the fastest of those that are shown to be faster, and who may be as fast or faster still."""
    first, *rest = sorted(faster, key=lambda result: -result.row["speedup"])
    sentence = f"{first.variant} is fastest, {difference(first, baseline)}, {_worth(first)}"
    ties = [result for result in rest if _overlap(first, result)]
    ties += [result for result in compared if result.word != "faster" and result.row["speedup"] > first.row["speedup"]]
    return sentence + _as_fast(ties)


def _as_fast(ties: Sequence[Judged]) -> str:
    return f"; {', '.join(result.variant for result in ties)} may be as fast" if ties else ""


def _overlap(first: Judged, second: Judged) -> bool:
    low = first.interval[0]
    return low is None or _reaches(second, low)


def _reaches(result: Judged, speedup: float = 1.0) -> bool:
    """Tell whether the interval of a result leaves it open that it has this speedup or more."""
    high = result.interval[1]
    return high is None or bool(high >= speedup)


def _none_faster(compared: Sequence[Judged], baseline: str) -> str:
    """Say that the baseline is fastest, or does not differ significantly from the one that comes nearest to it."""
    best = max(compared, key=lambda result: result.row["speedup"])
    shown = f"{best.variant} is {difference(best, baseline)}"
    word = best.word
    if word == "slower":
        ties = [result for result in compared if result.word not in ("slower", "same") and _reaches(result)]
        return f"{baseline} is fastest; {best.variant}, the next, is {difference(best)}, {_worth(best)}{_as_fast(ties)}"
    if word == "same":
        return f"none is faster than {baseline}: {shown}, the same within the noise floor{_doubts(best)}"
    if word == "ambiguous":
        sides = f"{best.variant} and {baseline}"
        measured = f"{best.variant} measured {difference(best)}{_though_clear(best)}"
        return f"no significant difference between {sides}: {measured}{_doubts(best)}{_needed(best)}"
    return f"{shown}, without a verdict{_doubts(best)}"


def difference(result: Judged, baseline: str | None = None) -> str:
    """Return by how much a result is faster or slower than a baseline, with the 95 % interval of that factor."""
    speedup, (low, high) = result.row["speedup"], result.interval
    word = "faster"
    if speedup < 1:
        word, speedup = "slower", 1 / speedup
        low, high = (None, None) if low is None or high is None else (1 / high, 1 / low)
    bounds = "" if low is None or high is None else f" (95 % CI {interval_text(low, high, ' to ')})"
    than = f" than {baseline}" if baseline else ""
    return f"{_digits(speedup)}{TIMES} {word}{than}{bounds}"


def _digits(value: float) -> str:
    if value < 0.1 or _TWO_DECIMALS_BELOW <= value < _NO_DECIMALS_FROM:  # noqa: PLR2004 - below it two say too little
        return f"{value:.3g}"
    return f"{value:.2f}" if value < _TWO_DECIMALS_BELOW else f"{value:.0f}"


def _worth(result: Judged) -> str:
    """Return whether the difference is confirmed, or why it is suspected only, and the doubts of its number."""
    verdict = result.verdict
    if verdict is None or verdict.confirmed:
        return f"confirmed{_doubts(result)}"
    if verdict.processes < CONFIRMING_PROCESSES:
        why = f"{verdict.processes} of {CONFIRMING_PROCESSES} processes"
    else:
        why = "the sides were not interleaved"
    return f"suspected ({why}){_doubts(result)}"


def _doubts(result: Judged) -> str:
    return "".join(f", {mark}" for mark in result.doubts) + result.theirs


def _though_clear(result: Judged) -> str:
    """Return why a difference is not significant though its interval excludes 1, as that needs a reason."""
    (low, high), verdict = result.interval, result.verdict
    if low is None or high is None or low <= 1 <= high or verdict is None or verdict.word != "ambiguous":
        return ""
    if verdict.reason == CONTAINS_1:  # the shown interval, over blocks, does not
        return "; the interval over processes contains 1 and reaches beyond the noise floor"
    return f"; {verdict.reason}"


def _needed(result: Judged) -> str:
    needed = result.verdict.needed if result.verdict else None
    if not needed:
        return ""
    if needed > MOST_PROCESSES:
        return f"; it would take {needed} processes to settle it"
    return f"; measure with --processes {needed} to settle it"
