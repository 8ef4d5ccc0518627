"""Sentences that state what a table or chart shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from dashboard import data
from dashboard.data.frames import SERIES, SYNTHETIC, backend_rank, iter_rows, key_of, rows_by, unit, with_series
from dashboard.formatting import TIMES, count, escape, interval, listed, missing, ratio
from dashboard.ui.verdicts import appearance_of, coloured
from dashboard.view import View
from store.metrics.text import significant
from store.stats.geomean import MOVED, Ratio, SpeedupChange, judge_speedup

SECTION = ["test", "accelerator"]
"""Columns that divide a page: no aggregate combines numbers of two tests or two accelerators."""
SUITES = "Test, accelerator and suite"
"""Label for the choice among charts of models; no chart combines two suites."""

_MOVERS = 3
_OF_MEAN = ("suite", "test", "accelerator", "variant", *SERIES)
"""Columns by which the results behind a mean are found."""
_MANY_MEANS = 3
"""Number of means of one series from which no single one is the headline."""


def geomean_sentences(means: pd.DataFrame, baseline: str, rows: pd.DataFrame) -> list[str]:
    """Return one sentence per series with a geometric mean, the most interesting first, without the baseline itself.

    Where the first series has several means, none of which stands for the others, a sentence about all of them leads.
    """
    compared_means = with_series(compared(means, baseline))
    compared_means = compared_means[compared_means["geomean"].notna()]
    ordered = sorted(iter_rows(compared_means), key=_order)
    models = _models_behind(compared_means, rows)
    of_first = [row for row in ordered if row.series == ordered[0].series and row.suite not in SYNTHETIC]
    return [*_overall(of_first, baseline, models), *(_sentence(row, baseline, models) for row in ordered)]


_ModelsOf = Callable[[Any], Sequence[Any]]
"""Mean → rows of `speedups` that it is over."""


def _models_behind(means: pd.DataFrame, rows: pd.DataFrame) -> _ModelsOf:
    """Return what finds the models of a mean; a setting that divides means divides their models, too."""
    names = [name for name in _OF_MEAN if name in means.columns and name in rows.columns]
    models = {key: [row for row in found if not missing(row.speedup)] for key, found in rows_by(rows, names).items()}
    return lambda mean: models.get(key_of(mean, names), ())


def compared(frame: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Remove the baseline's own rows: in its own run its ratio is 1 by definition."""
    return frame[~((frame["variant"] == baseline) & (frame["baseline_run_id"] == frame["run_id"]))]


def judged_change(view: View, row: Any, runs: tuple[str, str]) -> SpeedupChange | None:
    """Return the verdict on a row of `geomean_changes` of the earlier and the later run, the same on every page."""
    names = ("machine_id", "accelerator", "measured", "policy")
    machine = {name: None if missing(getattr(row, name)) else str(getattr(row, name)) for name in names}
    return judge_speedup(row, data.noise_floor(view.snapshot, runs, **machine).floor)


PARTED = "measured differently, or a mark lies between"
"""Why results of two runs have no change, though both have a number."""


def change_word(change: SpeedupChange, baseline: str) -> str:
    """Return sign and word of the backend's own verdict, and of the baseline's if that changed."""
    own = appearance_of(change.backend.word)
    if change.baseline.word not in MOVED:
        return own.text
    base = f"{baseline} {change.baseline.word}"
    return f"{own.sign} {base}" if change.by_baseline_only else f"{own.text}, {base}"


def change_sentence(change: SpeedupChange, baseline: str) -> str:
    """Say which time changed: the backend's own, the baseline's, or none significantly."""
    moved = change.backend.word in MOVED
    factor = f"{times(change.backend.ratio or 1)} {change.backend.word}"
    own = {"same": "its own time is unchanged"}.get(change.backend.word, "its own time shows no significant change")
    parts = [f"its own time became {factor}" if moved else own]
    if change.baseline.word in MOVED:
        parts.insert(len(parts) if moved else 0, f"{baseline} became {change.baseline.word}")
    return ", ".join(parts)


def from_to(change: SpeedupChange) -> str:
    """Return the speedup before and after."""
    digits = 2 if max(change.before, change.after) < 100 else 0  # noqa: PLR2004 - three digits say enough
    return f"{change.before:.{digits}f} → {change.after:.{digits}f}{TIMES}"


_TEN = 9.995
"""Smallest factor that has one decimal or none."""


def times(value: float) -> str:
    """Return a ratio of times as a factor above 1, the same for 1.5 and 1/1.5."""
    factor = max(value, 1 / value)
    return ratio(factor) if factor < _TEN else f"{significant(factor)}{TIMES}"


def changed_series(judged: Sequence[tuple[Any, SpeedupChange]], baseline: str) -> str:
    """Say which series changed their own time, the largest change first, and how a changed baseline moved speedups.

    The rows have a series and a place, including the baseline's own, and each its change.
    """
    movers = [(row, change) for row, change in judged if change.backend.word in MOVED]
    movers.sort(key=lambda pair: -abs(math.log(pair[1].backend.ratio or 1)))
    others = [(row, change) for row, change in judged if row.variant != baseline]
    if not movers:
        same = sum(change.backend.word == "same" for _, change in others)
        return (
            "no backend's time changed significantly "
            f"({same} unchanged, {len(others) - same} ambiguous of {count(len(others), 'series', 'series')})"
        )
    return listed([_mover(row, change, baseline, others) for row, change in movers], _MOVERS) + " (suspected)"


def _mover(row: Any, change: SpeedupChange, baseline: str, others: Sequence[tuple[Any, SpeedupChange]]) -> str:
    word, location = change.backend.word, escape(f"in {row.test} on {row.accelerator}, {row.suite}")
    factor = times(change.backend.ratio or 1)
    text = f"**{escape(row.series)}** {coloured(word, f'{factor} {word}')} {location}"
    if row.variant != baseline:
        return f"{text} ({from_to(change)}, n = {change.n})"
    text += f" (n = {change.n})"
    place = (row.test, row.accelerator, row.suite)
    alone = [pair for pair in others if (pair[0].test, pair[0].accelerator, pair[0].suite) == place]
    alone = [pair for pair in alone if pair[1].by_baseline_only]
    if not alone:
        return text
    names = listed([escape(other.series) for other, _ in alone], _MOVERS)
    still = "the same" if all(judgement.backend.word == "same" for _, judgement in alone) else "no change shown"
    first, ratios = alone[0]
    return f"{text}; {names}: {still}, so only the ratio moved ({escape(first.series)} {from_to(ratios)})"


def outcome_counts(
    series: str, baseline: str, numbers: Mapping[str, int], counted: str, named: str = "", unknown: str = "no interval"
) -> str:
    """Say on how many models or operators a series is slower, faster, neither or unknown; zero counts are left out.

    The numbers are by `slower`, `faster`, `same` and `unknown`; `named` are the slower ones, as markdown in brackets.
    """
    first = {"slower": "is slower than", "faster": "is faster than", "same": "shows no difference from"}
    later = {"slower": "slower on", "faster": "faster on", "same": "no difference shown on", "unknown": f"{unknown} on"}
    present = {word: number for word, number in numbers.items() if number}
    total = count(sum(present.values()), escape(counted))
    parts: list[str] = []
    for word, number in present.items():
        suffix = named if word == "slower" else ""
        if parts:
            parts.append(f"{later[word]} {number}{suffix}")
        else:
            leads = first.get(word, f"has {escape(unknown)} against")
            parts.append(f"**{escape(series)}** {leads} {escape(baseline)} on **{number} of {total}**{suffix}")
    return ", ".join(parts)


_DISTURBED = "disturbed by other programs"


def no_speedup(frame: pd.DataFrame, baseline: str) -> str:
    """Say that there is no speedup, with the most frequent reason and how many results have it, if not all.

    Disturbed results have one reason: their own texts count different turns, so none of them would be frequent.
    """
    reasons = frame["speedup_reason"].mask(frame["status"] == "disturbed", _DISTURBED).dropna().value_counts()
    reason = (
        escape(reasons.index[0]) if len(reasons) else "only the baseline was measured; measure another backend as well"
    )
    some = len(reasons) and reasons.iloc[0] < len(frame)
    part = f" ({reasons.iloc[0]:,} of {count(len(frame), 'result')})" if some else ""
    if not frame["ran"].any():
        single = len(frame) == 1
        ran = f"{'the experiment has no' if single else f'none of the {len(frame):,} experiments has a'} valid result"
        return f"No speedup over **{escape(baseline)}**: {ran}. The most frequent reason{part} is: {reason}"
    return f"No speedup over **{escape(baseline)}** can be computed: {reason}{part}"


def section_title(keys: Iterable[Any]) -> str:
    """Return `eval · cpu`, escaped for markdown."""
    return " · ".join(escape(key) for key in keys if key)


def _sentence(row: Any, baseline: str, models: _ModelsOf) -> str:
    """Return the verdict on a mean with its basis and its place, as one sentence of markdown."""
    names = models(row)
    over = f"geomean of {count(int(row.n), unit([row.suite]))}"
    over = escape(f"{names[0].model} only") if row.n == 1 and names else over
    over += _of_them(names) if row.n > 1 and not row.cross_device else ""
    place = escape(f"{row.test} on {row.accelerator}, {row.suite}")
    place += "; cross-device, so no verdict" if row.cross_device else ""
    return f"{verdict(row.series, row.geomean, *_bounds(row, names), baseline=baseline, over=over)} in {place}"


def _overall(rows: Sequence[Any], baseline: str, models: _ModelsOf) -> list[str]:
    """Return on how many results behind its means a series is slower or faster, as one sentence; none for a few means.

    The interval of a mean over few models contains 1 even where each of them is slower.
    """
    if len(rows) < _MANY_MEANS or any(row.cross_device for row in rows):
        return []
    words = Counter(ratio_of(model).word for row in rows for model in models(row))
    numbers = {word: words[word] for word in ("slower", "faster", "same", "unknown")}
    low, high = (ratio(end(row.geomean for row in rows)) for end in (min, max))
    counts = outcome_counts(rows[0].series, baseline, numbers, "result")
    span = f"all {low}" if low == high else f"from {low} to {high}"
    return [f"{counts} ({len(rows)} geomeans, one for each suite and test, {span})"]


def _bounds(row: Any, models: Sequence[Any]) -> tuple[Any, Any]:
    """Return the interval of a mean; that of its model where it has one only."""
    if row.n == 1 and len(models) == 1 and not row.cross_device:
        return models[0].speedup_low, models[0].speedup_high
    return row.geomean_low, row.geomean_high


def _of_them(models: Sequence[Any]) -> str:
    """Return how many models are slower or faster by their own intervals, which a mean may hide."""
    words = Counter(ratio_of(row).word for row in models)
    return "".join(f", {words[word]} {word}" for word in ("slower", "faster") if words[word])


def known_ends(*ends: Any) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None where there is none."""
    low, high = (None if missing(end) else float(end) for end in ends)
    return low, high


def ratio_of(row: Any) -> Ratio:
    """Return the speedup of a row of `speedups`."""
    return Ratio(row.model, float(row.speedup), *known_ends(row.speedup_low, row.speedup_high))


def verdict(series: str, value: float, low: float | None, high: float | None, *, baseline: str, over: str = "") -> str:
    """Return a sentence about a speedup, the verdict first, as markdown; no factor is below 1, which is misread easily.

    The value is the time of the baseline over that of the backend; `over` is the basis of the number, as markdown.
    """
    ends = None if missing(low) or missing(high) or not low or not high else (float(low), float(high))
    basis = [over] if over else []
    if ends and ends[0] <= 1 <= ends[1]:
        numbers = ", ".join([ratio(value), f"95 % CI {interval(*ends)}", *basis])
        return f"No significant difference between **{escape(series)}** and {escape(baseline)} ({numbers})"
    word = "faster" if value > 1 else "slower"
    if ends and value < 1:
        ends = (1 / ends[1], 1 / ends[0])
    numbers = ", ".join([f"95 % CI {interval(*ends)}{TIMES}" if ends else "no interval", *basis])
    if value == 1:
        return f"**{escape(series)}** takes as long as {escape(baseline)} ({numbers})"
    return f"**{escape(series)}** is **{times(value)} {word}** than {escape(baseline)} ({numbers})"


def _order(row: Any) -> tuple[Any, ...]:
    """Return the sort key of a row: real models before synthetic ones, XLA before others, many models before few."""
    return (row.suite in SYNTHETIC, backend_rank(row.backend), -row.n, row.test, row.suite, row.series)
