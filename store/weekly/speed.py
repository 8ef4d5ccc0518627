"""What got slower or faster: suspected between the runs, confirmed where both sides were measured again in turns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from store.compare import Cell, Comparison, Side, compare, compare_pairs
from store.compare.cells import ALIKE
from store.compare.report import EVIDENCE, evidence
from store.query import Connection, fetch, named
from store.record.experiment import VERSIONS
from store.report.table import Cell as Value
from store.report.table import Column, Table, text_columns
from store.weekly.lanes import PAGE, Lane, Pages, RunRef

MOVED = ("slower", "faster")
CONFIRMED, SUSPECTED, NOT_CONFIRMED = "confirmed", "suspected", "not confirmed"
_ORDER = (CONFIRMED, SUSPECTED, NOT_CONFIRMED)
_COLUMNS = (
    Column(title="verdict"),
    Column(
        title="certainty", definition="Confirmed: both sides were measured again, interleaved. Otherwise suspected."
    ),
    *text_columns("accelerator", "suite", "model", "test", "variant"),
    *EVIDENCE,
    Column(title="confirming run"),
    PAGE,
)


class SpeedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that moved; `again` is the same cell in a confirming run, which may know where `before` was ambiguous."""

    place: str
    now: str
    """The run of this week."""
    before: Cell
    remeasured: Cell | None = None
    run: str | None = None
    """The confirming run."""

    @property
    def word(self) -> str:
        """Return how it moved: as first told, else as a confirming run found."""
        first = self.before.verdict.word
        return first if first in MOVED or self.remeasured is None else self.remeasured.verdict.word

    @property
    def certainty(self) -> str:
        if self.before.verdict.confirmed:
            return CONFIRMED
        if self.remeasured is None:
            return SUSPECTED
        verdict = self.remeasured.verdict
        return CONFIRMED if verdict.confirmed and verdict.word == self.word else NOT_CONFIRMED

    @property
    def shown(self) -> Cell:
        """Return the cell with the better evidence."""
        return self.remeasured or self.before


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons of a review, and what moved in them."""

    comparisons: tuple[Comparison, ...]
    changes: tuple[SpeedChange, ...]

    def count(self, word: str, certainty: str) -> int:
        return sum(change.word == word and change.certainty == certainty for change in self.changes)

    @property
    def cells_n(self) -> int:
        return sum(len(comparison.cells) for comparison in self.comparisons)

    def unmoved(self, word: str) -> int:
        """Return how many cells have this verdict, and no confirming run that knows better."""
        judged_n = sum(len(comparison.of(word)) for comparison in self.comparisons)
        return judged_n - sum(change.before.verdict.word == word for change in self.changes)


def speed_of(con: Connection, lanes: Iterable[Lane]) -> Speed:
    """Compare the two runs of each lane; a pair of runs is compared once."""
    pairs: dict[tuple[RunRef, RunRef], dict[str, str]] = {}
    for lane in lanes:
        if lane.last:
            pairs.setdefault((lane.last, lane.now), {})[lane.accelerator] = lane.name
    comparisons, changes = [], []
    for (last, now), places in pairs.items():
        comparison = compare(con, Side(text="last", run_id=last.run_id), Side(text="now", run_id=now.run_id))
        comparisons.append(comparison)
        confirmed_cells = _confirming(con, last.run_id, now.run_id, now.started)
        for cell in comparison.of(*MOVED, "ambiguous", "same"):
            run, other = confirmed_cells.get((cell.experiment_id, cell.environment), (None, None))
            moved_surely = other and other.verdict.confirmed and other.verdict.word in MOVED
            if cell.verdict.word not in MOVED and not moved_surely:
                continue
            place = places.get(str(cell.alike[ALIKE.index("accelerator")]), "")
            changes.append(SpeedChange(place=place, now=now.run_id, before=cell, remeasured=other, run=run))
    return Speed(comparisons=tuple(comparisons), changes=tuple(sorted(changes, key=_rank)))


def _rank(change: SpeedChange) -> tuple[Any, ...]:
    """Sort by what a reader acts on first: slower before faster, then the certain, then the large."""
    ratio = change.shown.verdict.ratio or 1.0
    slower = change.word == "slower"
    return (not slower, _ORDER.index(change.certainty), ratio if slower else -ratio, change.before.model)


def _confirming(con: Connection, last: str, now: str, started: datetime) -> dict[tuple[str, str], tuple[str, Cell]]:
    """Return cells of confirming runs by experiment and the environment that they confirm; the newest run wins."""
    sides = {run: _environments(con, run) for run in (last, now)}
    by_run: dict[str, dict[str, dict[str, Any]]] = {}
    for row in fetch(con, named("weekly_confirmations"), {"since": started}):
        by_run.setdefault(row["run_id"], {})[row["environment"]] = json.loads(row["facts"])
    confirming: dict[tuple[str, str], tuple[str, Cell]] = {}
    for run, environments in by_run.items():
        for old, new, name in _pairs(environments):
            before, after = (_of(sides[side], name) for side in (last, now))
            if before and after and _alike(before[1], environments[old]) and _alike(after[1], environments[new]):
                for cell in _cells(con, run, old, new):
                    confirming.setdefault((cell.experiment_id, after[0]), (run, cell))
    return confirming


def _of(environments: dict[str, dict[str, Any]], name: str | None) -> tuple[str, dict[str, Any]] | None:
    """Return an environment by its name; None stands for the only one."""
    if name is not None:
        return (name, environments[name]) if name in environments else None
    return next(iter(environments.items())) if len(environments) == 1 else None


def _pairs(environments: Iterable[str]) -> list[tuple[str, str, str | None]]:
    """Return the environments of a confirming run that belong together, and whose they are."""
    names = set(environments)
    pairs: list[tuple[str, str, str | None]] = [("old", "new", None)] if {"old", "new"} <= names else []
    own = [name.removeprefix("old-") for name in sorted(names) if name.startswith("old-")]
    return pairs + [(f"old-{name}", f"new-{name}", name) for name in own if f"new-{name}" in names]


def _environments(con: Connection, run: str) -> dict[str, dict[str, Any]]:
    rows = fetch(con, named("weekly_environments"), {"runs": [run]})
    return {row["environment"]: json.loads(row["facts"]) for row in rows}


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say whether two environments have the same machine and packages."""
    return all(one.get(name) == other.get(name) for name in ("machine_id", *VERSIONS))


def _cells(con: Connection, run: str, old: str, new: str) -> tuple[Cell, ...]:
    sides = (Side(text=name, run_id=run, environment=name) for name in (old, new))
    return compare_pairs(con, [(next(sides), next(sides))]).cells


def changes_table(speed: Speed, pages: Pages) -> Table:
    """Return one row per change, with its evidence."""
    rows = tuple(_row(change, pages) for change in speed.changes)
    return Table(title="Slower and faster", columns=_COLUMNS, rows=rows)


def _row(change: SpeedChange, pages: Pages) -> tuple[Value, ...]:
    cell = change.before
    what = (cell.suite, cell.model, cell.test, cell.variant)
    page = pages.of(change.now, cell.suite, cell.model, cell.test)
    return (change.word, change.certainty, change.place, *what, *evidence(change.shown), change.run, page)


def reasons_table(speed: Speed) -> Table:
    """Return why cells were not compared: one row per reason, with how many cells have it."""
    by_reason: dict[str, list[str]] = {}
    for comparison in speed.comparisons:
        for cell in comparison.of("not comparable"):
            by_reason.setdefault(cell.verdict.reason, []).append(f"{cell.model} {cell.test} {cell.variant}")
    columns = (Column(title="not comparable because"), Column(title="n", numeric=True), Column(title="for example"))
    rows = sorted(((reason, len(names), names[0]) for reason, names in by_reason.items()), key=lambda row: -row[1])
    return Table(title="Not compared", columns=columns, rows=tuple(rows))
