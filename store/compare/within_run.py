"""The comparisons that a run answers by itself: variants with a baseline, environments with the first one."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

import msgspec

from store.compare.cells import compare
from store.compare.sides import Side
from store.query import DEFAULT_BASELINE
from store.stats.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from store.query import Connection
    from store.record import PlanEntry

BASELINES = (DEFAULT_BASELINE, f"{DEFAULT_BASELINE} cudagraphs", "eager")
"""A group's variants are compared with the first of these that it has."""
Key = tuple[str, str]
"""Experiment and environment: a member of a run."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two members of a group that a verdict is about."""

    group: str
    axis: Literal["variant", "environment"]
    """The axis in which the sides differ."""
    baseline: Key
    member: Key
    old: str
    """The variant or the environment of the baseline, and of the member."""
    new: str

    @property
    def members(self) -> tuple[Key, Key]:
        return self.baseline, self.member


class RunCell(msgspec.Struct, frozen=True, kw_only=True):
    """A pair and what is known of it."""

    pair: Pair
    verdict: Verdict


def pairs(plan: Iterable[PlanEntry]) -> tuple[Pair, ...]:
    """Return the comparisons of a plan, in its order; what was skipped is in none."""
    groups: dict[str, list[PlanEntry]] = defaultdict(list)
    for entry in plan:
        if entry.runnable:
            groups[entry.group].append(entry)
    return tuple(pair for entries in groups.values() for pair in (*_variants(entries), *_environments(entries)))


def _variants(entries: Sequence[PlanEntry]) -> Iterable[Pair]:
    named = next((name for name in BASELINES if any(entry.variant == name for entry in entries)), None)
    baselines = {_alike(entry): entry for entry in reversed(entries) if entry.variant == named}
    for entry in entries:
        baseline = baselines.get(_alike(entry))
        if baseline is not None and entry.variant != named:
            yield _pair("variant", baseline, entry, baseline.variant, entry.variant)


def _alike(entry: PlanEntry) -> tuple[str | None, ...]:
    """Return in what two variants of a group have to agree beside it."""
    return entry.environment, entry.config.optimizer, entry.config.loss


def _environments(entries: Sequence[PlanEntry]) -> Iterable[Pair]:
    first: dict[str, PlanEntry] = {}
    for entry in entries:
        baseline = first.setdefault(entry.experiment_id, entry)
        if baseline.environment != entry.environment:
            yield _pair("environment", baseline, entry, baseline.environment, entry.environment)


def _pair(axis: Literal["variant", "environment"], baseline: PlanEntry, entry: PlanEntry, old: str, new: str) -> Pair:
    return Pair(
        group=entry.group,
        axis=axis,
        baseline=(baseline.experiment_id, baseline.environment),
        member=(entry.experiment_id, entry.environment),
        old=old,
        new=new,
    )


def judged(con: Connection, run_id: str, asked: Sequence[Pair]) -> tuple[RunCell, ...]:
    """Return the pairs with their verdicts, as `compare` would give them; those without any record are left out."""
    found = []
    for axis, old, new in dict.fromkeys((pair.axis, pair.old, pair.new) for pair in asked):
        here = {pair.member: pair for pair in asked if (pair.axis, pair.old, pair.new) == (axis, old, new)}
        for cell in compare(con, _side(run_id, axis, old), _side(run_id, axis, new)).cells:
            pair = here.get((cell.experiment_id, cell.environment))
            if pair is not None:
                found.append(RunCell(pair=pair, verdict=cell.verdict))
    return tuple(found)


def _side(run_id: str, axis: Literal["variant", "environment"], name: str) -> Side:
    if axis == "variant":
        return Side(text=name, run_id=run_id, variant=name)
    return Side(text=name, run_id=run_id, environment=name)
