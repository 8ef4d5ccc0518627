"""The verdicts that a run gives by itself, and which ambiguous cells get more processes, how many, in which order.

A cell that is ambiguous with n processes gets n more: its members, the baseline too, are measured again beside each
other. Doubling needs few looks at the verdicts, and each look has its price (`store.stats.effects.level_of`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal

import msgspec

from store.compare.cells import compare
from store.compare.sides import Side
from store.errors import counted
from store.identity import workload
from store.query import DEFAULT_BASELINE, Connection
from store.record import PlanEntry, Record
from store.stats.effects import level_of
from store.stats.verdicts import Verdict

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
    config = entry.config
    return entry.environment, config.optimizer, config.loss, config.matmul_precision, workload(config)


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
    run_cells = []
    for axis, old, new in dict.fromkeys((pair.axis, pair.old, pair.new) for pair in asked):
        here = {pair.member: pair for pair in asked if (pair.axis, pair.old, pair.new) == (axis, old, new)}
        for cell in compare(con, _side(run_id, axis, old), _side(run_id, axis, new)).cells:
            pair = here.get((cell.experiment_id, cell.environment))
            if pair is not None:
                run_cells.append(RunCell(pair=pair, verdict=cell.verdict))
    return tuple(run_cells)


def _side(run_id: str, axis: Literal["variant", "environment"], name: str) -> Side:
    if axis == "variant":
        return Side(text=name, run_id=run_id, variant=name)
    return Side(text=name, run_id=run_id, environment=name)


class SpentProcesses(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of the additional processes."""

    processes: int
    seconds: float
    budget_s: float
    unpaid: frozenset[Pair]
    """Pairs for which the time did not suffice."""


def saved_time_sentence(
    before: Iterable[RunCell],
    after: Iterable[RunCell],
    spent: SpentProcesses,
    seconds: Mapping[Key, float],
    *,
    first: int,
    looks: int,
) -> str:
    """Return one short block: what was settled at which price, what is left and why, what was saved.

    `before` are the cells when verdicts were first asked for, with `first` processes of each experiment.
    """
    old, new = ({cell.pair: cell for cell in cells} for cells in (before, after))
    if not old:
        return "Verdicts: the run has no two variants or environments of a model to compare."
    doubtful = [pair for pair, cell in old.items() if cell.verdict.word == "ambiguous"]
    lines = [f"Verdicts: {counted(len(old), 'cell')}, none ambiguous: no further process was measured."]
    if doubtful:
        lines = [_settled([new[pair] for pair in doubtful if pair in new], len(doubtful), spent)]
    if left := _left(new.values(), spent, most_processes(first, looks)):
        lines.append(left)
    if saved := _saved(old, new, spent, seconds):
        lines.append(saved)
    level = 100 * level_of(looks)
    lines.append(f"Verdicts may be computed {looks} times, so this run has {level:.3g} % intervals.")
    return "\n".join(lines)


def _settled(now: list[RunCell], count: int, spent: SpentProcesses) -> str:
    words = Counter(cell.verdict.word for cell in now)
    settled = len(now) - words["ambiguous"]
    by_word = ", ".join(f"{word} {words[word]}" for word in ("faster", "slower", "same"))
    return (
        f"Verdicts: {settled} of {counted(count, 'ambiguous cell')} settled ({by_word}) "
        f"with {counted(spent.processes, 'further process', 'further processes')} in {spent.seconds:.0f} s."
    )


def _left(cells: Iterable[RunCell], spent: SpentProcesses, most: int) -> str:
    """Say how many cells stay ambiguous, and why each of them got no more processes."""
    reasons: Counter[str] = Counter()
    for cell in cells:
        reason = state(cell, most)
        if reason == "measured enough":
            reasons[f"measured by {most} processes, the limit"] += 1
        elif reason == "out of reach":
            reasons[f"more than {most} processes would be needed"] += 1
        elif reason == "reachable" and cell.pair in spent.unpaid:
            reasons[f"the time budget of {spent.budget_s:g} s does not suffice"] += 1
        elif reason == "reachable":
            reasons["the verdicts were computed as often as allowed"] += 1
    if not reasons:
        return ""
    why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
    return f"Still ambiguous: {reasons.total()} ({why})."


def _saved(
    old: Mapping[Pair, RunCell], new: Mapping[Pair, RunCell], spent: SpentProcesses, seconds: Mapping[Key, float]
) -> str:
    """Compare with measuring every cell as often as the one that was measured most."""
    had: dict[Key, int] = {}
    for pair, cell in old.items():
        if cell.verdict.word != "not comparable":
            for key in pair.members:
                had[key] = max(cell.verdict.processes, had.get(key, 0))
    as_often = max((cell.verdict.processes for cell in new.values()), default=0)
    further = {key: as_often - count for key, count in had.items() if as_often > count}
    if not spent.processes or not further:
        return ""
    would = sum(count * total((key,), seconds) for key, count in further.items())
    text = (
        f"Measuring every cell with {as_often} processes would have taken {sum(further.values())} further "
        f"processes and about {would:.0f} s"
    )
    if spent.seconds >= would:
        return f"{text}: nothing saved."
    return f"{text}: saved about {would - spent.seconds:.0f} s ({1 - spent.seconds / would:.0%})."


def process_seconds(records: Iterable[Record], groups: Mapping[Key, str]) -> dict[Key, float]:
    """Return about how many seconds of wall time a process of each experiment takes, over its newest attempt.

    Processes that took turns share the time in which they stood open: each by what it did in it, so that an
    experiment which compiles for long is not taken for a cheap one. A process that failed tells nothing.
    """
    rounds: dict[tuple[str, int, int], list[Record]] = defaultdict(list)
    for record in records:
        if record.error is None and record.machine is not None and record.key in groups:
            rounds[groups[record.key], record.attempt, record.replica].append(record)
    newest: dict[str, int] = {}
    for group, attempt, _ in rounds:
        newest[group] = max(attempt, newest.get(group, 0))
    seconds_of: dict[Key, list[float]] = defaultdict(list)
    for (group, attempt, _), together in rounds.items():
        if attempt == newest[group]:
            for record, seconds in _shares(together):
                seconds_of[record.key].append(seconds)
    return {key: fmean(seconds) for key, seconds in seconds_of.items()}


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
    """Return the seconds in which the process itself is known to have worked.

    The time of a block is that of one repetition; blocks at the start of turns are repeated about as often as the last.
    """
    start, times = (record.metrics.get(name) or [] for name in ("start_time_s", "total_time"))
    loops = record.measurement.blocks.inner_loops or [1] * len(times)
    known: list[tuple[float | None, int]] = [(seconds, 1) for seconds in start]
    known += zip(times, loops, strict=False)
    known += [(seconds, loops[-1] if loops else 1) for seconds in record.measurement.blocks.rewarm_time]
    return sum((seconds * count for seconds, count in known if seconds is not None), 0.0)


Left = Literal["settled", "reachable", "out of reach", "measured enough"]


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """Members of one group that get so many more processes, together."""

    members: tuple[Key, ...]
    processes: int
    cells: tuple[RunCell, ...]
    seconds: float
    """Estimated duration."""


def most_processes(first: int, looks: int) -> int:
    """Return how many processes a cell can have after all looks, each with twice as many as the one before."""
    return first << (looks - 1)


def state(cell: RunCell, most: int) -> Left:
    """Say whether more processes can settle the cell."""
    verdict = cell.verdict
    if verdict.word != "ambiguous":
        return "settled"
    if verdict.processes >= most:
        return "measured enough"
    return "reachable" if verdict.needed is not None and verdict.needed <= most else "out of reach"


def extensions(
    cells: Iterable[RunCell], most: int, seconds: Mapping[Key, float], left_s: float
) -> tuple[tuple[Extension, ...], tuple[RunCell, ...]]:
    """Return what to measure next, and the cells that the time left does not suffice for.

    Cells are taken by the number of processes that would settle them, the fewest first; members that a group measures
    for one cell serve its other cells as well. Among the groups the one of the first cell begins. A cell has at most
    `most` processes; a process of each member takes so many seconds.
    """
    reachable = [cell for cell in cells if state(cell, most) == "reachable"]
    chosen: dict[str, Extension] = {}
    unpaid = []
    for cell in sorted(reachable, key=lambda cell: (cell.verdict.needed or 0, cell.verdict.processes)):
        before = chosen.get(cell.pair.group)
        after = _with(before, cell, seconds)
        spent = sum(extension.seconds for extension in chosen.values()) - (before.seconds if before else 0.0)
        if spent + after.seconds <= left_s:
            chosen[cell.pair.group] = after
        else:
            unpaid.append(cell)
    return tuple(chosen.values()), tuple(unpaid)


def _with(before: Extension | None, cell: RunCell, seconds: Mapping[Key, float]) -> Extension:
    cells = (*(before.cells if before else ()), cell)
    members = tuple(dict.fromkeys(key for member in cells for key in member.pair.members))
    processes = max(member.verdict.processes for member in cells)
    return Extension(
        members=members,
        processes=processes,
        cells=cells,
        seconds=processes * total(members, seconds),
    )


def total(members: Sequence[Key], seconds: Mapping[Key, float]) -> float:
    """Return the seconds of one process of each; one that nobody has timed costs as much as the mean of all."""
    mean = sum(seconds.values()) / len(seconds) if seconds else 0.0
    return sum(seconds.get(key, mean) for key in members)


def settle_sentence(cells: Sequence[RunCell], chosen: Sequence[Extension]) -> str:
    """Say in one line what a look at the verdicts leads to."""
    ambiguous = sum(cell.verdict.word == "ambiguous" for cell in cells)
    count = sum(len(extension.cells) for extension in chosen)
    processes = sum(len(extension.members) * extension.processes for extension in chosen)
    seconds = sum(extension.seconds for extension in chosen)
    then = f"{processes} further processes for {count} of them take about {seconds:.0f} s"
    return f"{ambiguous} of {len(cells)} cells are ambiguous; {then if chosen else 'none gets further processes'}."
