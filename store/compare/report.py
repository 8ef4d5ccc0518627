"""A comparison as a report, and the report of what measuring its suspicions again has made of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from store.compare.calibration import NOT_CALIBRATED
from store.compare.cell import Cell, Comparison, variables_of
from store.compare.cells import WRONG_ANSWER
from store.errors import counted
from store.identity import model_names
from store.metrics.text import interval_text
from store.report.table import Cell as Value
from store.report.table import Column, Report, Table, decimals, text_columns
from store.stats.effects import level_of
from store.stats.verdicts import Verdict, Word, rate_of

TIME = "Median over processes of the median of their rounds, each of which is the median of its blocks."
RATIO = "Weighted mean over processes, not the ratio of the two columns before; above 1 the new side is faster."
FLOOR = "The larger noise floor of both sides; without A/A pairs of their own, that of all experiments measured alike."
_ORDER: tuple[Word, ...] = ("slower", "faster", "ambiguous", "not comparable", "same")
EVIDENCE = (
    Column(title="old", unit="ms", digits=3, numeric=True, definition=TIME),
    Column(title="new", unit="ms", digits=3, numeric=True, definition=TIME),
    Column(title="old / new", digits=3, numeric=True, definition=RATIO),
    Column(title="low", digits=3, numeric=True, definition="Lower end of the interval."),
    Column(title="high", digits=3, numeric=True, definition="Upper end of the interval."),
    Column(title="floor", unit="%", digits=1, numeric=True, definition=FLOOR),
    Column(title="A/A pairs", numeric=True, definition="A/A pairs behind the floor; 0 means the default floor."),
    Column(title="processes", numeric=True),
    Column(title="needed", numeric=True, definition="Processes that would settle an ambiguous cell."),
    Column(title="q", digits=4, numeric=True, definition="p adjusted for all cells (Benjamini-Hochberg)."),
    Column(title="reason"),
)
"""What a verdict rests on: `evidence` gives its values."""
_COLUMNS = (
    *text_columns("suite", "model", "test", "variant", "verdict", "confirmed"),
    *EVIDENCE,
)


_HASH = re.compile(r"@[0-9a-f]{8}(?= (?:eval|train) )")
"""The hash in the name of a user's own model."""
_CHANGED = (
    "The sides have no experiment in common, because your model or its inputs changed: the name has another hash, and "
    "a changed model starts a new series. Read the times of each run with `xlabench report --run RUN`."
)
_OTHER_MACHINE = (
    " Times of different machines are never compared: choose two runs of one machine, or read the speedups of each "
    "run with `xlabench report --run RUN`."
)
_REASONS = 3
"""Number of reasons to name if no experiment can be compared."""


def comparison_report(comparison: Comparison) -> Report:
    """Return the table of cells, worst first, and what only one side has; people read no rows if none is compared."""
    cells = sorted(
        comparison.cells, key=lambda cell: (_ORDER.index(cell.verdict.word), cell.suite, cell.model, cell.test)
    )
    counts = Counter(cell.verdict.word for cell in comparison.cells)
    summary = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word]) or "nothing in common"
    only = _only("Only old", comparison.only_old), _only("Only new", comparison.only_new)
    split, further = comparison.speedup_changes, [t for t in (comparison.break_even, comparison.findings) if t]
    advice = _nothing_comparable(comparison)
    return Report(
        title=f"{comparison.old.text} → {comparison.new.text}: {summary}",
        alarms=tuple(_wrong_answers(cells)),
        answer=advice,
        tables=(
            Table(title="Cells", columns=_COLUMNS, rows=tuple(_row(cell) for cell in cells)),
            *only,
            *([split] if split else []),
            *further,
        ),
        people=()
        if advice
        else (
            _brief(cells, level_of(comparison.looks)),
            *only,
            *([_brief_split(split)] if split else []),
            *further,
        ),
        notes=_notes(comparison),
    )


def _brief(cells: Sequence[Cell], level: float) -> Table:
    """Return what a reader wants of each cell, with the backends of a model together, the worst model first."""
    worst: dict[str, int] = {}
    for cell in cells:
        worst.setdefault(_subject(cell), _ORDER.index(cell.verdict.word))
    ordered = sorted(cells, key=lambda cell: (worst[_subject(cell)], _subject(cell)))
    digits = decimals([time for cell in cells for time in evidence(cell)[:2] if isinstance(time, float)], 3)
    columns = (
        Column(title="experiment"),
        Column(title="backend"),
        *(msgspec.structs.replace(column, digits=digits) for column in EVIDENCE[:2]),
        EVIDENCE[2],
        Column(title=f"{100 * level:.3g} %", numeric=True),
        Column(title="verdict"),
        Column(title="reason"),
    )
    return Table(title="Verdicts", columns=columns, rows=tuple(map(_brief_row, ordered)), headed=True)


def _brief_split(split: Table) -> Table:
    """Return the table of speedups with the backends of a model together; environments only where there are several."""
    several = len({row[4] for row in split.rows}) > 1
    rows = [
        (f"{model} {test}, {suite}", variant, *numbers, environment if several else None)
        for suite, model, test, variant, environment, *numbers in split.rows
    ]
    titles = ("old", "new", "new / old", "by backend", "by baseline")
    numeric = [Column(title=title, digits=3, numeric=True) for title in titles]
    columns = (*text_columns("experiment", "backend"), *numeric, *text_columns("environment"))
    return Table(title=split.title, columns=columns, rows=tuple(sorted(rows, key=lambda row: str(row[0]))), headed=True)


def _subject(cell: Cell) -> str:
    return f"{cell.model} {cell.test}, {cell.suite}"


def _brief_row(cell: Cell) -> tuple[Value, ...]:
    verdict = cell.verdict
    sure = "confirmed " if verdict.confirmed else "suspected " if verdict.word in ("faster", "slower") else ""
    reason = verdict.reason
    if verdict.needed:
        reason = f"{reason}; an estimated {verdict.needed} processes would settle it"
    return (
        _subject(cell),
        cell.variant,
        *evidence(cell)[:3],
        None if verdict.low is None or verdict.high is None else interval_text(verdict.low, verdict.high),
        f"{sure}{verdict.word}",
        reason,
    )


def _wrong_answers(cells: Sequence[Cell]) -> Iterator[str]:
    names = model_names((cell.suite, cell.model) for cell in cells)
    for cell in cells:
        side, _, why = cell.verdict.reason.partition(" side: ")
        if why == WRONG_ANSWER:
            result = f"{names[cell.suite, cell.model]} {cell.test} under {cell.variant}"
            yield f"WRONG ANSWER: {result} does not return what eager returns ({side} side)."


def _nothing_comparable(comparison: Comparison) -> tuple[str, ...]:
    """Say why no experiment of two sides can be compared, and what to do about it."""
    cells = comparison.cells
    if not cells:
        old, new = ({_HASH.sub("", name) for name in side} for side in (comparison.only_old, comparison.only_new))
        if old & new:
            return (_CHANGED,)
        sides = (comparison.old.text, comparison.only_old), (comparison.new.text, comparison.only_new)
        return (
            "The sides have no experiment in common. Name two runs of one plan, by their ids or labels.",
            *(f"{text} has {counted(len(names), 'experiment')}, such as {names[0]}." for text, names in sides if names),
        )
    if comparison.has_comparable:
        return ()
    reasons = Counter(cell.verdict.reason for cell in cells).most_common()
    remedy = _OTHER_MACHINE if any("machine_id differs" in reason for reason, _ in reasons) else ""
    if len(reasons) == 1:
        return (f"No experiment can be compared: {reasons[0][0]}.{remedy}",)
    return (
        f"No experiment can be compared; --format csv lists each with its reason.{remedy}",
        *(f"{counted(number, 'experiment')}: {reason}." for reason, number in reasons[:_REASONS]),
    )


def evidence(cell: Cell) -> tuple[Value, ...]:
    """Return what the cell's verdict rests on."""
    verdict = cell.verdict
    return (
        None if cell.old_s is None else cell.old_s * 1e3,
        None if cell.new_s is None else cell.new_s * 1e3,
        verdict.ratio,
        verdict.low,
        verdict.high,
        None if verdict.floor is None else verdict.floor * 100,
        cell.floor.pairs,
        verdict.processes,
        verdict.needed,
        verdict.q,
        verdict.reason,
    )


def _row(cell: Cell) -> tuple[Value, ...]:
    verdict = cell.verdict
    return (
        cell.suite,
        cell.model,
        cell.test,
        cell.variant,
        verdict.word,
        "yes" if verdict.confirmed else "suspected" if verdict.word in ("faster", "slower") else None,
        *evidence(cell),
    )


def _only(title: str, names: tuple[str, ...]) -> Table:
    return Table(title=title, columns=(Column(title="experiment"),), rows=tuple((name,) for name in names))


def _rule(comparison: Comparison) -> str:
    level = level_of(comparison.looks)
    rule = (
        f"A verdict needs a {100 * level:.3g} % interval that excludes 1, an effect above the noise floor, "
        f"and q below {100 * rate_of(level):.2g} %."
    )
    if comparison.looks == 1:
        return rule
    return (
        f"{rule} Ambiguous cells were measured by more processes, so verdicts were computed up to {comparison.looks} "
        "times, which share the 5 % of false alarms."
    )


def _notes(comparison: Comparison) -> tuple[str, ...]:
    if _nothing_comparable(comparison):
        return ()
    notes = [_rule(comparison)]
    if comparison.renamed:
        notes.append(comparison.renamed)
    if not comparison.interleaved:
        notes.append(
            "Faster and slower are only suspected where the sides were not interleaved; --confirm measures both again."
        )
    policies = {
        (difference.old, difference.new)
        for cell in comparison.cells
        for difference in cell.differs
        if difference.field == "policy"
    }
    notes += [
        f"The two sides were measured with different environment variables ({old or 'unknown'} and "
        f"{new or 'unknown'}), which is part of each difference."
        for old, new in sorted(policies, key=str)
        if variables_of(old) != variables_of(new)
    ]
    if any(cell.floor.pairs == 0 for cell in comparison.cells):
        notes.append(NOT_CALIBRATED)
    notes += [alarm.sentence() for alarm in comparison.false_alarms]
    return tuple(notes)


Which = Literal["suspected", "all"]
NOT_REPRODUCIBLE = "not reproducible"
SAME_ENVIRONMENT = (
    "both sides are the same environment, so only the day differs; to find out which of the two days was the unusual "
    "one, measure again with `xlabench run`"
)
_OTHER_WAY = "; not in the direction that was suspected"
_MOVED = ("slower", "faster")
_CONFIRMATION_ORDER = ("slower", "faster", "ambiguous", "not comparable", "same", NOT_REPRODUCIBLE)
_CONFIRMATION_COLUMNS = (
    *text_columns("suite", "model", "test", "variant", "environment"),
    Column(
        title="suspected",
        definition="The verdict before this confirmation; `ambiguous` cells were measured again as well.",
    ),
    Column(title="old / new before", digits=3, numeric=True),
    Column(title="verdict", definition="The verdict after both sides were measured again."),
    Column(title="confirmed"),
    *EVIDENCE,
)


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """A cell as it was, and as both sides measured again have it."""

    before: Cell
    remeasured: Cell | None
    same_environment: bool = False
    """Both sides have the same environment, so neither was measured again."""

    @property
    def word(self) -> str:
        if self.remeasured is not None:
            return self.remeasured.verdict.word
        return NOT_REPRODUCIBLE if self.same_environment else "not comparable"

    @property
    def confirmed(self) -> bool:
        """Say whether a difference is beyond doubt now, in the direction that was suspected, if one was."""
        if self.remeasured is None or not self.remeasured.verdict.confirmed:
            return False
        return self.before.verdict.word in (self.word, "ambiguous")


def to_confirm(comparison: Comparison, which: Which) -> tuple[Cell, ...]:
    """Return the cells that deserve to be measured again: the suspected ones, of `all` the ambiguous ones, too."""
    words = (*_MOVED, "ambiguous") if which == "all" else _MOVED
    return tuple(cell for cell in comparison.of(*words) if not cell.verdict.confirmed)


def still_slower(comparison: Comparison, results: Sequence[Confirmation]) -> list[Verdict]:
    """Return the verdicts `slower` after a confirmation; the one before stands where measuring again gave none."""
    settled = {result.before.key: result for result in results if result.word != "not comparable"}
    before = [cell.verdict for cell in comparison.of("slower") if cell.key not in settled]
    return before + [one.remeasured.verdict for one in settled.values() if one.remeasured and one.word == "slower"]


def confirmation_report(comparison: Comparison, cells: Sequence[Confirmation], remeasured: Comparison | None) -> Report:
    """Return the outcome of each suspicion, the answer first; `remeasured` is None where nothing was measured."""
    ordered = sorted(
        cells,
        key=lambda confirmation: (
            _CONFIRMATION_ORDER.index(confirmation.word),
            confirmation.before.suite,
            confirmation.before.model,
            confirmation.before.test,
        ),
    )
    tables = (
        Table(
            title="Measured again",
            columns=_CONFIRMATION_COLUMNS,
            rows=tuple(_confirmation_row(confirmation) for confirmation in ordered),
        ),
    )
    doubts = (remeasured.findings,) if remeasured and remeasured.findings else ()
    return Report(
        title=f"{comparison.old.text} → {comparison.new.text}: {_summary(comparison, cells)}",
        answer=() if cells else _nothing_comparable(comparison),
        tables=(*tables, *doubts),
        notes=_confirmation_notes(comparison, cells, remeasured),
    )


def _summary(comparison: Comparison, cells: Sequence[Confirmation]) -> str:
    if not cells:
        counts = _counts(cell.verdict.word for cell in comparison.cells)
        verdicts = ", ".join(f"{count} {word}" for word, count in counts) or "nothing in common"
        return f"nothing is suspected ({verdicts}), so nothing was measured."
    ambiguous = sum(confirmation.before.verdict.word == "ambiguous" for confirmation in cells)
    chosen = f"{len(cells) - ambiguous} suspected" + (f" and {ambiguous} ambiguous" if ambiguous else "")
    confirmed = [confirmation.word for confirmation in cells if confirmation.confirmed]
    others = [confirmation.word for confirmation in cells if not confirmation.confirmed]
    return f"{chosen}: {_with(len(confirmed), 'confirmed', confirmed)}, {_with(len(others), 'not confirmed', others)}"


def _with(count: int, what: str, words: Iterable[str]) -> str:
    """Return `2 confirmed (slower 2)`; without brackets where there is none."""
    return f"{count} {what}" + (f" ({', '.join(f'{word} {n}' for word, n in _counts(words))})" if count else "")


def _counts(words: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(words).items(), key=lambda item: _CONFIRMATION_ORDER.index(item[0]))


def _confirmation_row(confirmation: Confirmation) -> tuple[Value, ...]:
    before, remeasured = confirmation.before, confirmation.remeasured
    head = (before.suite, before.model, before.test, before.variant, before.environment)
    suspicion = (before.verdict.word, before.verdict.ratio)
    if remeasured is None:
        reason = SAME_ENVIRONMENT if confirmation.same_environment else "measuring both sides again gave no result"
        return (*head, *suspicion, confirmation.word, "no", *(None,) * (len(EVIDENCE) - 1), reason)
    *values, why = evidence(remeasured)
    return (
        *head,
        *suspicion,
        remeasured.verdict.word,
        "yes" if confirmation.confirmed else "no",
        *values,
        f"{why}" + (_OTHER_WAY if remeasured.verdict.confirmed and not confirmation.confirmed else ""),
    )


def _confirmation_notes(
    comparison: Comparison, cells: Sequence[Confirmation], remeasured: Comparison | None
) -> tuple[str, ...]:
    notes = []
    if remeasured is not None:
        notes.append(
            f"Both sides were measured again in run {remeasured.new.run_id}, which does not count as a result of its "
            "own."
        )
        if not remeasured.interleaved:
            notes.append("Some sides were not interleaved there either, so their differences are not confirmed.")
        if any(cell.floor.pairs == 0 for cell in remeasured.cells):
            notes.append(NOT_CALIBRATED)
    if before := sum(cell.verdict.confirmed for cell in comparison.cells):
        notes.append(f"{_were(before, 'difference')} confirmed before; without --confirm, they are listed.")
    if cells and (
        ambiguous := len(comparison.of("ambiguous")) - sum(c.before.verdict.word == "ambiguous" for c in cells)
    ):
        notes.append(f"{_were(ambiguous, 'ambiguous cell')} not measured again; --confirm all includes them.")
    return tuple(notes)


def _were(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"
