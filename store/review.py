"""Two sides with all that differs between them, as findings that a person can act on and speak of."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from store.compare import Cell, Comparison, Side, compare
from store.compare.cells import ALIKE
from store.report.table import Table
from store.state.reviews import Subject
from store.weekly.flips import COUNTS, Flip, Flips, cause, flips_of, gone_because
from store.weekly.lanes import between
from store.weekly.programs import FallbackChange, fallback_changes, versions_table
from store.weekly.results import Key, LaneSides, Row, sides_of
from store.weekly.speed import CONFIRMED, MOVED, NOT_CONFIRMED, SUSPECTED, SpeedChange, speed_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from store.query import Connection


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
    findings: tuple[ReviewFinding, ...]
    """What a person should look at, by evidence."""
    still: tuple[ReviewFinding, ...]
    """What failed both times."""
    added: tuple[ReviewFinding, ...]
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


def _speed(
    con: Connection, old: Side, new: Side, parts: Sequence[LaneSides]
) -> tuple[Comparison, tuple[SpeedChange, ...]]:
    speed = speed_of(con, [part.lane for part in parts])
    comparison = speed.comparisons[0] if speed.comparisons else compare(con, old, new)
    return comparison, speed.changes


def _within(con: Connection, old: Side, new: Side) -> tuple[Comparison, tuple[SpeedChange, ...]]:
    comparison = compare(con, old, new)
    return comparison, tuple(SpeedChange(place="", now=new.run_id, before=cell) for cell in comparison.of(*MOVED))


def _flipped(about: _About, flips: Flips) -> Iterator[ReviewFinding]:
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

    def speed(self, change: SpeedChange, part: LaneSides, key: Key) -> ReviewFinding:
        cell, row = change.shown, part.now[key]
        return ReviewFinding(
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

    def flip(self, flip: Flip, group: Any, word: str, why: str) -> ReviewFinding:
        row = flip.now or flip.last or {}
        sure = word != "flaky" and (word != "newly failing" or flip.counts == COUNTS or bool(self.against))
        return ReviewFinding(
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

    def op(self, change: FallbackChange) -> ReviewFinding:
        models = change.last - change.now if change.change in ("gone", "in fewer models") else change.now - change.last
        where = f"{change.place}, {change.test}, {change.variant}"
        return ReviewFinding(
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


Group = Literal["failure", "speed", "fallback op", "plan"]
GOOD = ("faster", "newly passing", "fails in A only", "fallback op gone", "fallback op in fewer models")
"""Words of findings that are no trouble."""
_GROUPS: tuple[Group, ...] = ("failure", "speed", "fallback op", "plan")
_CERTAINTIES = (CONFIRMED, SUSPECTED, NOT_CONFIRMED)


class ReviewFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one result, or of an op in several models."""

    group: Group
    word: str
    """What happened: slower, newly failing, no longer tried, …"""
    certainty: str
    """`confirmed`, `suspected` or `not confirmed`; a new failure that its retry repeated is confirmed."""
    subject: Subject
    place: str
    """The accelerator as people know it."""
    suite: str
    model: str
    test: str
    backend: str
    variant: str
    environment: str
    accelerator: str
    dtype: str | None
    experiment_id: str
    """Empty for an op, as suite, model and environment are."""
    why: str
    op: str = ""
    models: tuple[str, ...] = ()
    """Models in which an op is new, or from which it is gone."""
    state: str = ""
    """State of a failure over the last runs, such as `flaky, failed 2 of 5 (RPFPP)`."""
    signature: str = ""
    """Message of a failure without names and numbers."""
    cell: Cell | None = None
    """The best evidence of a change of speed."""
    confirming_run: str = ""
    now: dict[str, Any] = {}
    """The new side's result, if it has one."""
    before: dict[str, Any] = {}
    """The old side's."""

    @property
    def what(self) -> str:
        """Return it in one line."""
        of = (self.op,) if self.op else (self.suite, self.model)
        where = f"{' '.join((*of, self.test, self.variant))} on {self.place or self.accelerator}"
        _, against, other = self.subject.finding.partition(" against ")
        return f"{self.word}: {where}{against}{other}"

    @property
    def token(self) -> str:
        """Return a short name for links: the same for this series and kind of finding in every run."""
        words = f"{self.subject.series}\0{self.subject.finding}"
        return hashlib.blake2b(words.encode(), digest_size=5).hexdigest()

    @property
    def good(self) -> bool:
        """Say whether it is an improvement."""
        return self.word in GOOD

    @property
    def lost_s(self) -> float | None:
        """Return by how many seconds an iteration takes longer; below 0 it takes less."""
        if self.cell is None or self.cell.old_s is None or self.cell.new_s is None:
            return None
        return self.cell.new_s - self.cell.old_s

    @property
    def surely(self) -> float:
        """Return the least change that the interval allows, as a logarithm."""
        if self.cell is None:
            return 0.0
        verdict = self.cell.verdict
        near = verdict.high if self.word == "slower" else verdict.low
        return abs(math.log(near)) if near else 0.0


def by_evidence(finding: ReviewFinding) -> tuple[Any, ...]:
    """Sort troubles before improvements, then by group, certainty and the least change that the interval allows.

    What is no longer tried comes last: a smaller plan is a choice more often than a trouble.
    """
    certainty = _CERTAINTIES.index(finding.certainty)
    rank = (
        finding.group == "plan",
        finding.good,
        _GROUPS.index(finding.group),
        finding.word == "flaky",
        certainty,
        -finding.surely,
    )
    return (*rank, finding.suite, finding.model, finding.test, finding.variant)


def by_time_lost(finding: ReviewFinding) -> tuple[Any, ...]:
    """Sort by the time that an iteration lost; what has no time comes last."""
    lost = finding.lost_s
    return (lost is None, -(lost or 0.0), *by_evidence(finding))


def common_lanes(con: Connection, old: Side, new: Side) -> tuple[LaneSides, ...]:
    """Return what both sides have, one part per accelerator of the new side.

    Raises:
        UsageError: the new side measured nothing.
    """
    parts = tuple(sides_of(con, lane) for lane in between(con, old.run_id, new.run_id))
    if old.run_id != new.run_id or (old.environment or old.variant or new.environment or new.variant) is None:
        return parts
    return tuple(_of_axis(part, old, new) for part in parts)


def _of_axis(part: LaneSides, old: Side, new: Side) -> LaneSides:
    rows = part.now.values()
    now, last = ({_key(row, new): row for row in rows if _is_of(row, side)} for side in (new, old))
    return LaneSides(part.lane, now, last)


def _is_of(row: Row, side: Side) -> bool:
    return side.environment in (None, row["environment"]) and side.variant in (None, row["variant"])


def _key(row: Row, side: Side) -> Key:
    return tuple(row[name] for name in ALIKE) if side.variant else (row["experiment_id"],)


__all__ = ["GOOD", "Group", "Review", "ReviewFinding", "by_evidence", "by_time_lost", "review"]
