"""Choose which experiments of a run are measured against themselves, so that it can state its own false-alarm rate."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from store.identity import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.schedule.resume import Group
    from runner.settings import Settings
    from store.record import PlanEntry

GROUPS_PER_TWIN = 10
"""A twin costs one process more; beside a group of four backends this is 2.5 % of a run's time."""
MIN_GROUPS = 3
"""Smaller runs answer one question; their twin would be a large part of them."""


def with_twins(groups: Iterable[Group], plan: Sequence[PlanEntry], settings: Settings) -> tuple[Group, ...]:
    """Return the groups with their twins; in a calibration each experiment has one.

    Where nothing is asked for, a run has twins if its own verdicts rest on more than one process: those of one process
    are suspected at most, and readers of its file find one record per experiment.
    """
    if settings.purpose == "calibration":
        return tuple(replace(group, twins=group.entries) for group in groups)
    sparse = settings.verify == "only" or settings.processes == 1
    count = 0 if settings.twins is None and (sparse or settings.preset == "peer") else settings.twins
    chosen = choose(plan, count, settings.seed)
    return tuple(replace(group, twins=chosen.get(group.name, ())) for group in groups)


def choose(plan: Iterable[PlanEntry], count: int | None, seed: int) -> dict[str, tuple[PlanEntry, ...]]:
    """Return the members that get a twin, by the name of their group: the same for the same plan and seed.

    Asked of the whole plan, a resumed run chooses the same ones again.

    Args:
        plan: all entries of the run; skipped ones are never chosen.
        count: how many; None: one for every ten groups, and at least one where there are three.
        seed: of the run.
    """
    members: dict[str, list[PlanEntry]] = defaultdict(list)
    for entry in plan:
        if entry.runnable:
            members[entry.group].append(entry)
    ranked = [
        sorted(entries, key=lambda entry: _rank(seed, entry.group, entry.experiment_id, entry.environment))
        for _, entries in sorted(members.items(), key=lambda item: _rank(seed, item[0]))
    ]
    # First one member of each group, then a second of each: twins are spread over the plan.
    spread = [entry for each in zip_longest(*ranked) for entry in each if entry is not None]
    chosen: dict[str, tuple[PlanEntry, ...]] = {}
    for entry in spread[: usual(len(members)) if count is None else max(0, count)]:
        chosen[entry.group] = (*chosen.get(entry.group, ()), entry)
    return chosen


def usual(groups: int) -> int:
    """Return how many twins a run of so many groups carries where nobody says."""
    return max(groups // GROUPS_PER_TWIN, int(groups >= MIN_GROUPS))


def _rank(seed: int, *facts: str) -> str:
    return digest([seed, *facts])
