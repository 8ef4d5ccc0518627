"""More processes of some members of a group, beside those that the run has measured already (pure)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
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


def _key(record: Record) -> tuple[str, str]:
    return record.experiment_id, record.environment.name
