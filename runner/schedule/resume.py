"""What of a plan is still to be measured, given the records of its run (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from store.record import FAILED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from store.record import PlanEntry, Record


@dataclass(frozen=True)
class Member:
    """One experiment of a group; a twin is the same one once more, measured as if it were another."""

    entry: PlanEntry
    twin: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        """Identify it within its run."""
        return (*_key(self.entry), self.twin)


@dataclass(frozen=True, kw_only=True)
class Extension:
    """How a group goes on that has been measured: as it was measured, by further processes."""

    replicas: range
    batch_size: int | None
    """The batch size that its first process resolved."""
    start: str
    """How its processes start."""
    had: Mapping[tuple[str, str], int]
    """Processes that each member had before."""
    resumes: bool = False
    """The processes are those that a stopped call has left, not additional ones."""
    given_up: frozenset[tuple[str, str, bool]] = frozenset()
    """Keys of the members that failed in their first process, and are tried in no further one."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """All runnable variants of one model and test: measured together, in one attempt."""

    name: str
    entries: tuple[PlanEntry, ...]
    attempt: int
    twins: tuple[PlanEntry, ...] = ()
    """Those of the entries that are measured against themselves, too."""
    extension: Extension | None = None
    """Where it is part of a group, measured once more by further processes."""

    @property
    def members(self) -> tuple[Member, ...]:
        """Return all that is measured."""
        return (*map(Member, self.entries), *(Member(entry, twin=True) for entry in self.twins))


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """Groups to measure, skips to write down, and the experiments that are finished already."""

    groups: tuple[Group, ...]
    skips: tuple[PlanEntry, ...]
    finished: tuple[PlanEntry, ...]


def remaining(
    plan: Sequence[PlanEntry], records: Iterable[Record], *, replicas: int = 1, retry_failed: bool = False
) -> Remaining:
    """Split a plan into what is finished and what is to be measured.

    A group with a missing member, or a member with a missing replica, is measured again as a whole, under the next
    attempt. What failed in its first process is tried in no further one. Failures count as finished unless
    `retry_failed`.

    Args:
        plan: all entries of the run.
        records: what the run has measured.
        replicas: how many records an experiment gets; one that has more is finished as well.
        retry_failed: measure groups with a failure again.
    """
    attempts: dict[tuple[str, str], dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        if record.twin_of is None:
            attempts[record.experiment_id, record.environment.name][record.attempt][record.replica] = record.status
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
        statuses = [each.get(last, {}) for each in seen]
        complete = all(is_complete(each, replicas) for each in statuses)
        failed = any(status in FAILED | REFUSED for each in statuses for status in each.values())
        if complete and not (retry_failed and failed):
            finished += entries
        else:
            groups.append(Group(name=name, entries=tuple(entries), attempt=last + 1))
    return Remaining(groups=tuple(groups), skips=tuple(skips), finished=tuple(finished))


def is_complete(statuses: Mapping[int, str], replicas: int) -> bool:
    """Say whether an attempt at an experiment, given as its status by replica, is over."""
    return statuses.get(0) in FAILED or all(replica in statuses for replica in range(replicas))


def _key(entry: PlanEntry) -> tuple[str, str]:
    return entry.experiment_id, entry.environment
