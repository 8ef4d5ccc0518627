"""Find all that differs between two sides, by the same functions as `xlabench compare` and the weekly review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from store.compare import Comparison, Side, compare
from store.report.table import Table
from store.review.finding import Finding, by_evidence
from store.review.sides import common_lanes
from store.state.reviews import Subject
from store.weekly.flips import COUNTS, Flip, Flips, cause, flips_of, gone_because
from store.weekly.programs import FallbackChange, fallback_changes
from store.weekly.speed import CONFIRMED, MOVED, SUSPECTED, Change, speed_of
from store.weekly.versions import versions_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from store.compare import Cell
    from store.query import Connection
    from store.weekly.results import Key, Row, Sides


_NAMES = ("suite", "model", "test", "backend", "variant", "environment", "accelerator", "dtype", "experiment_id")
_OP_WORDS = {
    "new": "new fallback op",
    "in more models": "fallback op in more models",
    "in other models": "fallback op in other models",
    "in fewer models": "fallback op in fewer models",
    "gone": "fallback op gone",
}


_WITHIN_WORDS = {
    "newly failing": "fails in B only",
    "newly passing": "fails in A only",
    "no longer tried": "not tried in B",
    "still failing": "fails in both",
    "new in the plan": "tried in B only",
}
"""What two sides of one run are called: neither is the newer one."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides and what differs."""

    old: Side
    new: Side
    comparison: Comparison
    findings: tuple[Finding, ...]
    """What a person should look at, by evidence."""
    still: tuple[Finding, ...]
    """What failed both times."""
    added: tuple[Finding, ...]
    """What only the new side tried."""
    settled: frozenset[tuple[str, str]]
    """Experiment and environment of ambiguous or same cells of which a confirming run knows better."""
    versions: Table

    @property
    def across_runs(self) -> bool:
        """Say whether the sides are two runs."""
        return self.old.run_id != self.new.run_id

    def cells(self, word: str) -> list[Cell]:
        """Return the cells with a verdict that no confirming run knows better."""
        return [cell for cell in self.comparison.of(word) if (cell.experiment_id, cell.environment) not in self.settled]


def review(con: Connection, old: Side, new: Side) -> Review:
    """Compare two sides.

    Raises:
        UsageError: the new side measured nothing.
    """
    parts = common_lanes(con, old, new)
    across = old.run_id != new.run_id
    comparison, changes = _speed(con, old, new, parts) if across else _within(con, old, new)
    against = "" if across else f" against {old.text}"
    rows = {(row["experiment_id"], row["environment"]): (part, key) for part in parts for key, row in part.now.items()}
    flips = flips_of(con, parts)
    about = _About(new.run_id, against)
    found = [
        *(about.speed(change, *rows[_of(change.before)]) for change in changes if _of(change.before) in rows),
        *_flipped(about, flips),
        *(about.op(change) for change in fallback_changes(con, parts)),
    ]
    return Review(
        old=old,
        new=new,
        comparison=comparison,
        findings=tuple(sorted(found, key=by_evidence)),
        still=tuple(about.flip(flip, "failure", "still failing", cause(flip.now or {})) for flip in flips.still),
        added=tuple(about.flip(flip, "plan", "new in the plan", "") for flip in flips.added),
        settled=frozenset(_of(change.before) for change in changes if change.before.verdict.word not in MOVED),
        versions=versions_table(con, [part.lane for part in parts] if across else []),
    )


def _speed(con: Connection, old: Side, new: Side, parts: Sequence[Sides]) -> tuple[Comparison, tuple[Change, ...]]:
    speed = speed_of(con, [part.lane for part in parts])
    comparison = speed.comparisons[0] if speed.comparisons else compare(con, old, new)
    return comparison, speed.changes


def _within(con: Connection, old: Side, new: Side) -> tuple[Comparison, tuple[Change, ...]]:
    comparison = compare(con, old, new)
    return comparison, tuple(Change(place="", now=new.run_id, before=cell) for cell in comparison.of(*MOVED))


def _flipped(about: _About, flips: Flips) -> Iterator[Finding]:
    for flip in flips.failing:
        yield about.flip(flip, "failure", "newly failing", cause(flip.now or {}))
    for flip in flips.passing:
        yield about.flip(flip, "failure", "newly passing", f"failed before: {cause(flip.last or {})}")
    for flip in flips.flaky:
        yield about.flip(flip, "failure", "flaky", "passes now, but not always")
    for flip in flips.gone:
        why = "only A has it" if about.against else gone_because(flip)
        yield about.flip(flip, "plan", "no longer tried", why)


class _About(msgspec.Struct, frozen=True):
    """Makes findings of one pair of sides."""

    run_id: str
    against: str

    def speed(self, change: Change, part: Sides, key: Key) -> Finding:
        cell, row = change.shown, part.now[key]
        return Finding(
            group="speed",
            word=change.word,
            certainty=change.certainty,
            subject=self._subject(row["series_id"], "speed"),
            place=part.lane.name,
            why=cell.verdict.reason,
            cell=cell,
            confirming_run=change.run or "",
            now=row,
            before=part.last.get(key, {}),
            **_names(row),
        )

    def flip(self, flip: Flip, group: Any, word: str, why: str) -> Finding:
        row = flip.now or flip.last or {}
        sure = word != "flaky" and (word != "newly failing" or flip.counts == COUNTS or bool(self.against))
        return Finding(
            group=group,
            word=_WITHIN_WORDS.get(word, word) if self.against else word,
            certainty=CONFIRMED if sure else SUSPECTED,
            subject=self._subject(row["series_id"], group),
            place=flip.place,
            why=why,
            state=flip.state or "",
            signature=(flip.now or {}).get("error_signature") or "",
            now=flip.now or {},
            before=flip.last or {},
            **_names(row),
        )

    def op(self, change: FallbackChange) -> Finding:
        models = change.last - change.now if change.change in ("gone", "in fewer models") else change.now - change.last
        where = f"{change.place}, {change.test}, {change.variant}"
        return Finding(
            group="fallback op",
            word=_OP_WORDS[change.change],
            certainty=CONFIRMED,
            subject=self._subject(where, f"fallback op {change.op}"),
            place=change.place,
            suite="",
            model="",
            test=change.test,
            backend=change.variant.split(" ", maxsplit=1)[0],
            variant=change.variant,
            environment="",
            accelerator=change.accelerator,
            dtype=None,
            experiment_id="",
            op=change.op,
            models=tuple(sorted(models)),
            why=f"{change.op} ({change.klass}): {len(change.now)} of {change.of} models, before {len(change.last)}",
        )

    def _subject(self, series: str, finding: str) -> Subject:
        return Subject(run_id=self.run_id, series=series, finding=finding + self.against)


def _of(cell: Cell) -> tuple[str, str]:
    return cell.experiment_id, cell.environment or "default"


def _names(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in _NAMES}
