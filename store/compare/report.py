"""A comparison as a report: the answer first, each verdict with its evidence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from store.compare.cells import WRONG_ANSWER
from store.report.table import Column, Report, Table
from store.stats.effects import level_of
from store.stats.verdicts import rate_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from store.compare.cell import Cell, Comparison
    from store.report.table import Cell as Value
    from store.stats.verdicts import Word

_ORDER: tuple[Word, ...] = ("slower", "faster", "ambiguous", "not comparable", "same")
EVIDENCE = (
    Column(title="old", unit="ms", digits=3, numeric=True, definition="Median over processes of their medians."),
    Column(title="new", unit="ms", digits=3, numeric=True, definition="Median over processes of their medians."),
    Column(title="old / new", digits=3, numeric=True, definition="Above 1 the new side is faster."),
    Column(title="low", digits=3, numeric=True, definition="Lower end of the interval."),
    Column(title="high", digits=3, numeric=True, definition="Upper end of the interval."),
    Column(title="floor", unit="%", digits=1, numeric=True, definition="Noise floor of this experiment here."),
    Column(title="A/A pairs", numeric=True, definition="What the floor rests on; 0 is the default floor."),
    Column(title="processes", numeric=True),
    Column(title="needed", numeric=True, definition="Processes that would settle an ambiguous cell."),
    Column(title="q", digits=4, numeric=True, definition="p adjusted for all cells (Benjamini-Hochberg)."),
    Column(title="reason"),
)
"""What a verdict rests on: `evidence` gives its values."""
_COLUMNS = (
    Column(title="suite"),
    Column(title="model"),
    Column(title="test"),
    Column(title="variant"),
    Column(title="verdict"),
    Column(title="confirmed"),
    *EVIDENCE,
)


def comparison_report(found: Comparison) -> Report:
    """Return the table of cells, worst first, and what only one side has."""
    cells = sorted(found.cells, key=lambda cell: (_ORDER.index(cell.verdict.word), cell.suite, cell.model, cell.test))
    counts = Counter(cell.verdict.word for cell in found.cells)
    said = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word]) or "nothing in common"
    return Report(
        title=f"{found.old.text} → {found.new.text}: {said}",
        alarms=tuple(_wrong_answers(cells)),
        tables=(
            Table(title="Cells", columns=_COLUMNS, rows=tuple(_row(cell) for cell in cells)),
            _only("Only old", found.only_old),
            _only("Only new", found.only_new),
            *(each for each in (found.speedup_changes, found.break_even, found.findings) if each),
        ),
        notes=_notes(found),
    )


def _wrong_answers(cells: Iterable[Cell]) -> Iterator[str]:
    for cell in cells:
        side, _, why = cell.verdict.reason.partition(" side: ")
        if why == WRONG_ANSWER:
            yield (
                f"WRONG ANSWER: {cell.model} {cell.test} under {cell.variant} does not return what eager returns "
                f"({side} side)."
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


def _rule(found: Comparison) -> str:
    level = level_of(found.looks)
    rule = (
        f"A verdict needs a {100 * level:.3g} % interval clear of 1, an effect above the noise floor, "
        f"and q below {100 * rate_of(level):.2g} %."
    )
    if found.looks == 1:
        return rule
    return f"{rule} Ambiguous cells were given more processes: up to {found.looks} looks share 5 % of false alarms."


def _notes(found: Comparison) -> tuple[str, ...]:
    notes = [_rule(found)]
    if found.renamed:
        notes.append(found.renamed)
    if not found.interleaved:
        notes.append(
            "Faster and slower are only suspected where the sides were not interleaved; --confirm measures both again."
        )
    if any(cell.floor.pairs == 0 for cell in found.cells):
        notes.append("A floor from 0 A/A pairs is the default: this machine has not been calibrated.")
    notes += [each.sentence() for each in found.false_alarms]
    return tuple(notes)
