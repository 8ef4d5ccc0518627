"""Which groups of a plan are still to be measured, by which processes, and in which order (pure)."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

import msgspec

from runner.accelerators import ACCELERATORS
from runner.settings import Settings
from store.identity import digest, experiment_id
from store.record import FAILED, REFUSED, PlanEntry, Record


@dataclass(frozen=True)
class Member:
    """One experiment of a group; a twin is the same one once more, measured as if it were another."""

    entry: PlanEntry
    twin: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        """Identify it within its run."""
        return (*self.entry.key, self.twin)


@dataclass(frozen=True, kw_only=True)
class GroupExtension:
    """How a measured group continues: with further processes, in the way of the first ones."""

    replicas: range
    batch_size: int | None
    """The batch size that its first process resolved."""
    start: str
    """Start method of its processes."""
    had: Mapping[tuple[str, str], int]
    """Processes that each member had before."""
    given_up: frozenset[tuple[str, str, bool]] = frozenset()
    """Keys of the members that failed in their first process, and are tried in no further one."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """All runnable variants of one model and test: measured together, in one attempt."""

    name: str
    entries: tuple[PlanEntry, ...]
    attempt: int
    twins: tuple[PlanEntry, ...] = ()
    """Entries that are also measured against themselves."""
    extension: GroupExtension | None = None
    """Set for the part of a group that further processes measure."""

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
    attempt; one with more replicas is finished. What failed in its first process is tried in no further one. Failures
    count as finished unless `retry_failed`.
    """
    attempts: dict[tuple[str, str], dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        if record.twin_of is None:
            attempts[record.key][record.attempt][record.replica] = record.status
    members: dict[str, list[PlanEntry]] = defaultdict(list)
    skips = []
    for entry in plan:
        if entry.runnable:
            members[entry.group].append(entry)
        elif not attempts.get(entry.key):
            skips.append(entry)
    groups, finished = [], []
    for name, entries in members.items():
        seen = [attempts.get(entry.key, {}) for entry in entries]
        last = max((max(replicas_by_attempt) for replicas_by_attempt in seen if replicas_by_attempt), default=0)
        statuses = [replicas_by_attempt.get(last, {}) for replicas_by_attempt in seen]
        complete = all(
            by_replica.get(0) in FAILED or all(replica in by_replica for replica in range(replicas))
            for by_replica in statuses
        )
        failed = any(status in FAILED | REFUSED for by_replica in statuses for status in by_replica.values())
        if complete and not (retry_failed and failed):
            finished += entries
        else:
            groups.append(Group(name=name, entries=tuple(entries), attempt=last + 1))
    return Remaining(groups=tuple(groups), skips=tuple(skips), finished=tuple(finished))


# Further processes of some members, in addition to those that the run has measured.


@dataclass(frozen=True, kw_only=True)
class Further:
    """A request for further processes of some members of one group."""

    entries: tuple[PlanEntry, ...]
    processes: int


def extended(asked: Further, plan: Iterable[PlanEntry], records: Iterable[Record]) -> Group:
    """Return the members as a group that continues the newest attempt at theirs.

    The new replicas are numbered behind all that any member of the group has: what took turns has one number, and no
    number is given twice. Twins are left as they are, they state the rate of the pairs that they have.
    """
    name = asked.entries[0].group
    members = {entry.key for entry in plan if entry.group == name}
    own = [record for record in records if record.twin_of is None and record.key in members]
    attempt = max(record.attempt for record in own)
    newest = [record for record in own if record.attempt == attempt]
    first = 1 + max(record.replica for record in newest)
    extension = _extension(newest, range(first, first + asked.processes))
    return Group(name=name, entries=asked.entries, attempt=attempt, extension=extension)


def continued(group: Group, records: Iterable[Record], replicas: int) -> Group:
    """Return the group going on behind the processes that a stopped call has measured of it, where that can be.

    Members are compared process by process, so what counts is a process of all of them, twins included. One that some
    have and others lack cannot be completed: its members have not taken turns. Then the group is as it was, to be
    measured as a whole.
    """
    keys = [member.key for member in group.members]
    own = [record for record in records if record.attempt == group.attempt - 1 and record_member(record) in keys]
    had = Counter(map(record_member, own))
    given_up = frozenset(record_member(record) for record in own if record.replica == 0 and record.status in FAILED)
    counts = {had[key] for key in keys if key not in given_up}
    whole = min(counts, default=0)
    if len(counts) != 1 or not 0 < whole < replicas:
        return group
    extension = _extension(own, range(whole, replicas), given_up)
    return replace(group, attempt=group.attempt - 1, extension=extension)


def _extension(
    measured: Sequence[Record], replicas: range, given_up: frozenset[tuple[str, str, bool]] = frozenset()
) -> GroupExtension:
    """Return how a group continues behind what one attempt has measured of it."""
    sizes = [record.experiment.batch_size for record in measured if record.status not in FAILED]
    return GroupExtension(
        replicas=replicas,
        batch_size=sizes[0] if sizes else None,
        start=measured[0].measurement.start,
        had=Counter(record.key for record in measured if record.twin_of is None),
        given_up=given_up,
    )


def record_member(record: Record) -> tuple[str, str, bool]:
    """Return the key of the member that the record is of."""
    return (*record.key, record.twin_of is not None)


Key = tuple[str, str]
"""Key that an experiment and its warm or cold sibling share."""
Order = Literal["interleaved", "rounds", "sequence"]
"""Turns while the others are stopped; processes whole, the members' order turning round; member by member."""


# In which order a group's processes are measured: balanced, so that a drift hits all of them alike.


def order_of(members: Sequence[Member], settings: Settings) -> Order:
    """Choose how a group is measured: as the settings say, as far as it makes sense and its device allows."""
    exactly_so = settings.preset == "peer" or settings.verify == "only"
    if settings.interleave == "off" or exactly_so or len(members) < 2:  # noqa: PLR2004 - a single member takes no turns
        return "sequence"
    shared = all(not ACCELERATORS[member.entry.config.accelerator].single_owner for member in members)
    return "interleaved" if settings.interleave == "processes" and shared else "rounds"


def one_by_one(members: Sequence[Member], replicas: range, order: Order) -> list[tuple[Member, int]]:
    """Return the processes, each with its replica, as they are measured where none is stopped for another."""
    if order == "sequence":
        return [(member, replica) for member in in_order(members) for replica in replicas]
    # The batch size is resolved by the first process, so the plan's order begins: ABBA from replica to replica.
    there, back = in_order(members), in_order(tuple(reversed(members)))
    return [(member, replica) for replica in replicas for member in (back if replica % 2 else there)]


def turn_order(count: int, round_number: int, seed: int, replica: int) -> list[int]:
    """Return in which order `count` processes take a round's turns: there and back, each replica in its own order."""
    order = list(range(count))
    random.Random(f"{seed}/{replica}").shuffle(order)  # noqa: S311 - no secret
    return order[::-1] if round_number % 2 else order


def in_order(members: Sequence[Member]) -> list[Member]:
    """Put each warm experiment right behind its cold sibling; keep the order otherwise."""
    first: dict[Key, int] = {}
    for number, member in enumerate(members):
        first.setdefault(sibling_key(member.entry), number)
    return sorted(members, key=lambda member: (first[sibling_key(member.entry)], member.entry.config.cache == "warm"))


def sibling_key(entry: PlanEntry) -> Key:
    """Identify an experiment and its warm or cold sibling alike."""
    return experiment_id(msgspec.structs.replace(entry.config, cache="cold")), entry.environment


# Which experiments are measured against themselves, so that a run can state its own false-alarm rate.

GROUPS_PER_TWIN = 10
"""A twin costs one more process: with groups of four backends, 2.5 % of a run's time."""
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
    chosen = choose_twins(plan, count, settings.seed)
    return tuple(replace(group, twins=chosen.get(group.name, ())) for group in groups)


def choose_twins(plan: Iterable[PlanEntry], count: int | None, seed: int) -> dict[str, tuple[PlanEntry, ...]]:
    """Return the members that get a twin, by the name of their group: the same for the same plan and seed.

    Without a count it is one for every ten groups, and at least one where there are three; what is skipped has none.
    Asked of the whole plan, a resumed run chooses the same ones again.
    """
    members: dict[str, list[PlanEntry]] = defaultdict(list)
    for entry in plan:
        if entry.runnable:
            members[entry.group].append(entry)
    ranked = [
        sorted(entries, key=lambda entry: _twin_rank(seed, entry.group, *entry.key))
        for _, entries in sorted(members.items(), key=lambda item: _twin_rank(seed, item[0]))
    ]
    # First one member of each group, then a second of each: twins are spread over the plan.
    spread = [entry for entries_of_rank in zip_longest(*ranked) for entry in entries_of_rank if entry is not None]
    chosen: dict[str, tuple[PlanEntry, ...]] = {}
    for entry in spread[: usual_twins(len(members)) if count is None else max(0, count)]:
        chosen[entry.group] = (*chosen.get(entry.group, ()), entry)
    return chosen


def usual_twins(groups: int) -> int:
    """Return the default number of twins in a run of so many groups."""
    return max(groups // GROUPS_PER_TWIN, int(groups >= MIN_GROUPS))


def _twin_rank(seed: int, *facts: str) -> str:
    return digest([seed, *facts])
