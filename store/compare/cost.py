"""What a process of each experiment has cost, so that it can be said what a further one will (pure)."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from store.compare.within_run import Key
    from store.record import Record


def process_seconds(records: Iterable[Record], groups: Mapping[Key, str]) -> dict[Key, float]:
    """Return about how many seconds of wall time a process of each experiment takes, over its newest attempt.

    Processes that took turns share the time in which they stood open: each by what it did in it, so that an
    experiment which compiles for long is not taken for a cheap one. A process that failed tells nothing.

    Args:
        records: of one run.
        groups: the group of each experiment.
    """
    rounds: dict[tuple[str, int, int], list[Record]] = defaultdict(list)
    for record in records:
        if record.error is None and record.machine is not None and key_of(record) in groups:
            rounds[groups[key_of(record)], record.attempt, record.replica].append(record)
    newest: dict[str, int] = {}
    for group, attempt, _ in rounds:
        newest[group] = max(attempt, newest.get(group, 0))
    found: dict[Key, list[float]] = defaultdict(list)
    for (group, attempt, _), together in rounds.items():
        if attempt == newest[group]:
            for record, seconds in _shares(together):
                found[key_of(record)].append(seconds)
    return {key: fmean(seconds) for key, seconds in found.items()}


def key_of(record: Record) -> Key:
    """Identify a member within its run."""
    return record.experiment_id, record.environment.name


def _shares(together: Sequence[Record]) -> Iterable[tuple[Record, float]]:
    """Yield the processes of one number of a group, each with its seconds of wall time."""
    watched = [record.machine.seconds if record.machine else 0.0 for record in together]
    if any(record.measurement.order != "interleaved" for record in together):
        return list(zip(together, watched, strict=True))
    own = [_own(record) for record in together]
    # The first that opened was watched for the time of all.
    stretch = max(1.0, max(watched) / sum(own)) if sum(own) else 1.0
    return [(record, seconds * stretch) for record, seconds in zip(together, own, strict=True)]


def _own(record: Record) -> float:
    """Return the seconds in which the process itself is known to have worked."""
    start, blocks = record.metrics.get("start_time_s") or [], record.metrics.get("total_time") or []
    known: list[float | None] = [*start, *blocks, *record.measurement.blocks.rewarm_time]
    return sum((seconds for seconds in known if seconds is not None), 0.0)
