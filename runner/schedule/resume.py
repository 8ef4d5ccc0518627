"""What of a plan is still to be measured, given the records of its run (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from store.record import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from store.record import PlanEntry, Record


@dataclass(frozen=True, kw_only=True)
class Group:
    """All runnable variants of one model and test: measured together, in one attempt."""

    name: str
    entries: tuple[PlanEntry, ...]
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """Groups to measure, skips to write down, and the experiments that are finished already."""

    groups: tuple[Group, ...]
    skips: tuple[PlanEntry, ...]
    finished: tuple[PlanEntry, ...]


def remaining(plan: Sequence[PlanEntry], records: Iterable[Record], *, retry_failed: bool = False) -> Remaining:
    """Split a plan into what is finished and what is to be measured.

    A group with a missing member is measured again as a whole, under the next attempt. Failures count as
    finished unless `retry_failed`.
    """
    attempts: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for record in records:
        attempts[record.experiment_id, record.environment.name][record.attempt] = record.status
    members: dict[str, list[PlanEntry]] = defaultdict(list)
    skips = []
    for entry in plan:
        if entry.runnable:
            members[entry.group].append(entry)
        elif not attempts.get(_key(entry)):
            skips.append(entry)
    groups, finished = [], []
    for name, entries in members.items():
        seen = [attempts.get(_key(entry), {}) for entry in entries]
        last = max((max(each) for each in seen if each), default=0)
        complete = last > 0 and all(last in each for each in seen)
        failed = any(each.get(last) in FAILED for each in seen)
        if complete and not (retry_failed and failed):
            finished += entries
        else:
            groups.append(Group(name=name, entries=tuple(entries), attempt=last + 1))
    return Remaining(groups=tuple(groups), skips=tuple(skips), finished=tuple(finished))


def _key(entry: PlanEntry) -> tuple[str, str]:
    return entry.experiment_id, entry.environment
