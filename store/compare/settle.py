"""Which ambiguous cells get more processes, how many, and in which order (pure).

A cell that is ambiguous with n processes gets n more: its members, the baseline too, are measured again beside each
other. Doubling needs few looks at the verdicts, and each look has its price (`store.stats.effects.level_of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from store.compare.within_run import Key, RunCell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Left = Literal["settled", "reachable", "out of reach", "measured enough"]


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """Members of one group that get so many more processes, together."""

    group: str
    members: tuple[Key, ...]
    processes: int
    cells: tuple[RunCell, ...]
    seconds: float
    """What it is expected to take."""


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
    for one cell serve its other cells as well. Among the groups the one of the first cell begins.

    Args:
        cells: all of the run.
        most: processes that a cell may have.
        seconds: of a process of each member.
        left_s: seconds that all may take.
    """
    reachable = [cell for cell in cells if state(cell, most) == "reachable"]
    chosen: dict[str, Extension] = {}
    unpaid = []
    for cell in sorted(reachable, key=lambda cell: (cell.verdict.needed or 0, cell.verdict.processes)):
        before = chosen.get(cell.pair.group)
        after = _with(before, cell, seconds)
        spent = sum(each.seconds for each in chosen.values()) - (before.seconds if before else 0.0)
        if spent + after.seconds <= left_s:
            chosen[cell.pair.group] = after
        else:
            unpaid.append(cell)
    return tuple(chosen.values()), tuple(unpaid)


def _with(before: Extension | None, cell: RunCell, seconds: Mapping[Key, float]) -> Extension:
    cells = (*(before.cells if before else ()), cell)
    members = tuple(dict.fromkeys(key for each in cells for key in each.pair.members))
    processes = max(each.verdict.processes for each in cells)
    return Extension(
        group=cell.pair.group,
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
    count = sum(len(each.cells) for each in chosen)
    processes = sum(len(each.members) * each.processes for each in chosen)
    then = f"{count} of them by {processes} further processes, about {sum(each.seconds for each in chosen):.0f} s"
    return f"{ambiguous} of {len(cells)} cells are ambiguous; {then if chosen else 'none is measured further'}."
