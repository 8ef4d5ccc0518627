"""More processes of some members of a group, beside those that the run has measured already (pure)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.schedule.resume import Extension, Group
from store.record import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.record import PlanEntry, Record


@dataclass(frozen=True, kw_only=True)
class Further:
    """What is asked for: so many more processes of each of these members of one group."""

    entries: tuple[PlanEntry, ...]
    processes: int


def extended(asked: Further, plan: Iterable[PlanEntry], records: Iterable[Record]) -> Group:
    """Return the members as a group that goes on where the newest attempt at theirs has ended.

    The new replicas are numbered behind all that any member of the group has: what took turns has one number, and no
    number is given twice. Twins are left as they are, they state the rate of the pairs that they have.

    Args:
        asked: members and the number of their processes.
        plan: all entries of the run.
        records: what the run has measured, those members among it.
    """
    name = asked.entries[0].group
    members = {(entry.experiment_id, entry.environment) for entry in plan if entry.group == name}
    own = [each for each in records if each.twin_of is None and _key(each) in members]
    attempt = max(each.attempt for each in own)
    newest = [each for each in own if each.attempt == attempt]
    first = 1 + max(each.replica for each in newest)
    sizes = [each.experiment.batch_size for each in newest if each.status not in FAILED]
    return Group(
        name=name,
        entries=asked.entries,
        attempt=attempt,
        extension=Extension(
            replicas=range(first, first + asked.processes),
            batch_size=sizes[0] if sizes else None,
            start=newest[0].measurement.start,
            had=Counter(map(_key, newest)),
        ),
    )


def continued(group: Group, records: Iterable[Record], replicas: int) -> Group:
    """Return the group going on behind the processes that a stopped call has measured of it, where that can be.

    Members are compared process by process, so what counts is a process of all of them, twins included. One that some
    have and others lack cannot be completed: its members have not taken turns. Then the group is as it was, to be
    measured as a whole.

    Args:
        group: one that the run lacks, under the attempt after its last.
        records: what the run has measured.
        replicas: processes of each member.
    """
    keys = [member.key for member in group.members]
    own = [each for each in records if each.attempt == group.attempt - 1 and _member(each) in keys]
    had = Counter(map(_member, own))
    given_up = frozenset(_member(each) for each in own if each.replica == 0 and each.status in FAILED)
    counts = {had[key] for key in keys if key not in given_up}
    whole = min(counts, default=0)
    if len(counts) != 1 or not 0 < whole < replicas:
        return group
    sizes = [each.experiment.batch_size for each in own if each.status not in FAILED]
    return replace(
        group,
        attempt=group.attempt - 1,
        extension=Extension(
            replicas=range(whole, replicas),
            batch_size=sizes[0] if sizes else None,
            start=own[0].measurement.start,
            had=Counter(_key(each) for each in own if each.twin_of is None),
            resumes=True,
            given_up=given_up,
        ),
    )


def _member(record: Record) -> tuple[str, str, bool]:
    """Return the key of the member that the record is of."""
    return (*_key(record), record.twin_of is not None)


def _key(record: Record) -> tuple[str, str]:
    return record.experiment_id, record.environment.name
