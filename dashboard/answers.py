"""Sentences that state what a table or chart shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dashboard import data
from dashboard.rows import each, with_series
from dashboard.verdicts import coloured, look
from dashboard.words import TIMES, count, escape, interval, listed, missing, ratio
from store.stats.mean_change import MOVED, judge_speedup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from dashboard.view import View
    from store.stats.mean_change import SpeedupChange

SECTION = ["test", "accelerator"]
"""Columns that part a page: numbers of two tests or two accelerators never share an aggregate."""
SUITES = "Test, accelerator and suite"
"""What names the charts of models: those of two suites never share one."""

_FIRST = ("openxla+dynamo", "openxla+lazytensor")
_LAST = ("eager",)
_SYNTHETIC = ("dummy",)
_MOVERS = 3


def geomean_sentences(means: pd.DataFrame, baseline: str) -> list[str]:
    """Return one sentence per series with a geometric mean; in order of interest, the baseline itself left out.

    Args:
        means: rows of `geomeans`.
        baseline: backend that the ratios are over.
    """
    found = with_series(compared(means, baseline))
    found = found[found["geomean"].notna()]
    ordered = sorted(each(found), key=_order)
    return [_sentence(row, baseline) for row in ordered]


def compared(frame: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Leave out the baseline's own rows: compared with itself in its own run, it is 1 by definition."""
    return frame[~((frame["variant"] == baseline) & (frame["baseline_run_id"] == frame["run_id"]))]


def judged_change(view: View, row: Any, runs: tuple[str, str]) -> SpeedupChange | None:
    """Return the judgement on a row of `geomean_changes`: the one that every page shows.

    Args:
        view: what is shown.
        row: of the query.
        runs: ids of the run before and of the later one.
    """
    machine = None if missing(row.machine_id) else str(row.machine_id)
    return judge_speedup(row, data.noise_floor(view.snapshot, runs, machine).floor)


def change_word(change: SpeedupChange, baseline: str) -> str:
    """Return sign and word of what moved: the backend's own verdict; beside it the baseline's where that moved."""
    own = look(change.backend.word)
    if change.baseline.word not in MOVED:
        return own.text
    base = f"{baseline} {change.baseline.word}"
    return f"{own.sign} {base}" if change.by_baseline_only else f"{own.text}, {base}"


def from_to(change: SpeedupChange) -> str:
    """Return the speedup before and after."""
    digits = 2 if max(change.before, change.after) < 100 else 0  # noqa: PLR2004 - three digits say enough
    return f"{change.before:.{digits}f} → {change.after:.{digits}f}{TIMES}"


def times(value: float) -> str:
    """Return a ratio of times as a factor above 1: the same for 1.5 and for 1/1.5."""
    return f"{max(value, 1 / value):.3g}{TIMES}"


def what_moved(judged: Sequence[tuple[Any, SpeedupChange]], baseline: str) -> str:
    """Say whose own time moved, the largest change first; of a baseline that moved, what its speedups did.

    Args:
        judged: rows with a series and a place, the baseline's own among them, each with its change.
        baseline: backend that the speedups are over.
    """
    movers = [(row, change) for row, change in judged if change.backend.word in MOVED]
    movers.sort(key=lambda pair: -abs(math.log(pair[1].backend.ratio or 1)))
    others = [(row, change) for row, change in judged if row.variant != baseline]
    if not movers:
        same = sum(change.backend.word == "same" for _, change in others)
        return (
            "no backend's time changed clear of noise "
            f"({same} unchanged, {len(others) - same} ambiguous of {count(len(others), 'series', 'series')})"
        )
    return listed([_mover(row, change, baseline, others) for row, change in movers], _MOVERS) + " (suspected)"


def _mover(row: Any, change: SpeedupChange, baseline: str, others: Sequence[tuple[Any, SpeedupChange]]) -> str:
    word, where = change.backend.word, escape(f"in {row.test} on {row.accelerator}, {row.suite}")
    factor = times(change.backend.ratio or 1)
    said = f"**{escape(row.series)}** {coloured(word, f'{factor} {word}')} {where}"
    if row.variant != baseline:
        return f"{said} ({from_to(change)}, n = {change.n})"
    place = (row.test, row.accelerator, row.suite)
    alone = [each for each in others if (each[0].test, each[0].accelerator, each[0].suite) == place]
    alone = [each for each in alone if each[1].by_baseline_only]
    if not alone:
        return said
    names = listed([escape(other.series) for other, _ in alone], _MOVERS)
    still = "the same" if all(each.backend.word == "same" for _, each in alone) else "no change shown"
    shown, ratios = alone[0]
    return f"{said}; {names}: {still}, so only the ratio moved ({escape(shown.series)} {from_to(ratios)})"


def no_speedup(frame: pd.DataFrame, baseline: str) -> str:
    """Say that there is no speedup, with the most frequent reason."""
    reasons = frame["speedup_reason"].dropna().value_counts()
    why = escape(reasons.index[0]) if len(reasons) else "only the baseline was measured"
    return f"No speedup over **{escape(baseline)}** can be computed: {why}"


def section_title(keys: Iterable[Any]) -> str:
    """Return `eval · cpu`, escaped for markdown."""
    return " · ".join(escape(key) for key in keys if key)


def _sentence(row: Any, baseline: str) -> str:
    """Return variant, geometric mean, n, interval, whether that holds 1, and place as one sentence of markdown."""
    bounds = "" if missing(row.geomean_low) else f", 95 % {interval(row.geomean_low, row.geomean_high)}"
    if bounds and row.geomean_low <= 1 <= row.geomean_high:
        bounds += ": no difference shown"
    where = escape(f"{row.test} on {row.accelerator}, {row.suite}")
    where += "; cross-device, so no verdict" if row.cross_device else ""
    return (
        f"**{escape(row.series)}** is **{ratio(row.geomean)}** as fast as {escape(baseline)} "
        f"(geomean of {count(int(row.n), 'model')}{bounds}) in {where}"
    )


def _order(row: Any) -> tuple[Any, ...]:
    """Put what answers most first: real models before synthetic ones, XLA before others, many models before few."""
    return (row.suite in _SYNTHETIC, _rank(row.backend), -row.n, row.test, row.suite, row.series)


def _rank(backend: str) -> int:
    if backend in _FIRST:
        return _FIRST.index(backend)
    return len(_FIRST) + (backend in _LAST)
