"""All differences between two sides, as findings that people can review."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import msgspec

from store.compare import Cell, Comparison, Side, compare
from store.compare.cells import ALIKE
from store.identity import Model
from store.query import Connection
from store.report.table import Table
from store.state.reviews import Subject
from store.weekly.flips import COUNTS, Flip, Flips, cause, flips_of, gone_because
from store.weekly.lanes import Key, LaneSides, Row, between, sides_of
from store.weekly.programs import FallbackChange, fallback_changes, versions_table
from store.weekly.speed import CONFIRMED, MOVED, NOT_CONFIRMED, SUSPECTED, SpeedChange, speed_of

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
"""Word of a finding → its word for two sides of one run, of which neither is the newer one."""
_OTHER_LABEL_WORDS = {word: _WITHIN_WORDS[word] for word in ("no longer tried", "new in the plan")}
"""The same for runs of two labels, whose plans differ on purpose."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides and the differences between them."""

    old: Side
    new: Side
    comparison: Comparison
    findings: tuple[ReviewFinding, ...]
    """Findings to look at, in the order of their evidence."""
    still: tuple[ReviewFinding, ...]
    """Results that failed on both sides."""
    added: tuple[ReviewFinding, ...]
    """Results that only the new side tried."""
    settled: frozenset[tuple[str, str]]
    """Experiment and environment of ambiguous or same cells for which a confirming run has a better verdict."""
    versions: Table

    @property
    def across_runs(self) -> bool:
        return self.old.run_id != self.new.run_id

    def cells(self, word: str) -> list[Cell]:
        """Return the cells with a verdict, except those that a confirming run has settled."""
        return [cell for cell in self.comparison.of(word) if cell.key not in self.settled]


def review(con: Connection, old: Side, new: Side) -> Review:
    """Compare two sides.

    Raises:
        UsageError: the new side measured nothing.
    """
    parts = common_lanes(con, old, new)
    across = old.run_id != new.run_id
    # Side by side, as one thread computes while the other one's query is planned.
    with ThreadPoolExecutor(1, "flips") as executor:
        flipped = executor.submit(flips_of, con, parts)
        comparison, changes = _speed(con, old, new, parts) if across else _within(con, old, new)
        flips = flipped.result()
    against = "" if across else f" against {old.text}"
    rows = {(row["experiment_id"], row["environment"]): (part, key) for part in parts for key, row in part.now.items()}
    labels = {run.label for part in parts for run in (part.lane.last, part.lane.now) if run is not None}
    about = _About(new.run_id, against, _WITHIN_WORDS if not across else _OTHER_LABEL_WORDS if len(labels) > 1 else {})
    findings = [
        *(about.speed(change, *rows[change.before.key]) for change in changes if change.before.key in rows),
        *_flipped(about, flips),
        *(about.op(change) for change in fallback_changes(con, parts)),
    ]
    return Review(
        old=old,
        new=new,
        comparison=comparison,
        findings=tuple(sorted(findings, key=by_evidence)),
        still=tuple(about.flip(flip, "failure", "still failing", cause(flip.now or {})) for flip in flips.still),
        added=tuple(about.flip(flip, "plan", "new in the plan", "") for flip in flips.added),
        settled=frozenset(change.before.key for change in changes if change.before.verdict.word not in MOVED),
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
        why = "only A has it" if "no longer tried" in about.words else gone_because(flip)
        yield about.flip(flip, "plan", "no longer tried", why)


class _About(msgspec.Struct, frozen=True):
    """Creates the findings of one pair of sides."""

    run_id: str
    against: str
    words: Mapping[str, str]
    """Word of a finding of a result → the word for these sides."""

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
            word=self.words.get(word, word),
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


def _names(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in _NAMES}


Group = Literal["failure", "speed", "fallback op", "plan"]
GOOD = ("faster", "newly passing", "fails in A only", "fallback op gone", "fallback op in fewer models")
"""Words of findings that are improvements."""
_GROUPS: tuple[Group, ...] = ("failure", "speed", "fallback op", "plan")
_CERTAINTIES = (CONFIRMED, SUSPECTED, NOT_CONFIRMED)


class ReviewFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding about one result, or about an op in several models."""

    group: Group
    word: str
    """The kind of change: slower, newly failing, no longer tried, …"""
    certainty: str
    """`confirmed`, `suspected` or `not confirmed`; a new failure that its retry repeated is confirmed."""
    subject: Subject
    place: str
    """Name of the accelerator for people."""
    suite: str
    model: str
    test: str
    backend: str
    variant: str
    environment: str
    accelerator: str
    dtype: str | None
    experiment_id: str
    """The experiment; empty for an op, as suite, model and environment are."""
    why: str
    op: str = ""
    models: tuple[Model, ...] = ()
    """Models in which an op is new or gone."""
    state: str = ""
    """State of a failure over the last runs, such as `flaky, failed 2 of 5 (RPFPP)`."""
    signature: str = ""
    """Message of a failure without names and numbers."""
    cell: Cell | None = None
    """The best evidence of a change of speed."""
    confirming_run: str = ""
    now: dict[str, Any] = {}
    """The result of the new side, if it has one."""
    before: dict[str, Any] = {}
    """The result of the old side, if it has one."""

    @property
    def what(self) -> str:
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
        return self.word in GOOD

    @property
    def lost_s(self) -> float | None:
        """Return the change of an iteration in seconds; below 0 it became faster."""
        if self.cell is None or self.cell.old_s is None or self.cell.new_s is None:
            return None
        return self.cell.new_s - self.cell.old_s

    @property
    def surely(self) -> float:
        """Return the smallest change within the interval, as a logarithm."""
        if self.cell is None:
            return 0.0
        verdict = self.cell.verdict
        near = verdict.high if self.word == "slower" else verdict.low
        return abs(math.log(near)) if near else 0.0


def by_evidence(finding: ReviewFinding) -> tuple[Any, ...]:
    """Sort troubles before improvements, then by group, certainty and the least change that the interval allows.

    Results that are no longer tried come last, because a smaller plan is usually intended.
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
    """Sort by the seconds that an iteration lost; findings without a time come last."""
    lost = finding.lost_s
    return (lost is None, -(lost or 0.0), *by_evidence(finding))


def common_lanes(con: Connection, old: Side, new: Side) -> tuple[LaneSides, ...]:
    """Return the results of both sides, one part per accelerator of the new side.

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
