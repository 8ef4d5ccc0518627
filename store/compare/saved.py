"""What measuring until a verdict comes has brought, and what it has saved against measuring everything as often."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from store.compare.settle import most_processes, state, total
from store.compare.within_run import Pair
from store.stats.effects import level_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from store.compare.within_run import Key, RunCell


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What the further processes have cost."""

    processes: int
    seconds: float
    budget_s: float
    unpaid: frozenset[Pair]
    """Pairs that the time did not suffice for."""


def saved_time_sentence(
    before: Iterable[RunCell],
    after: Iterable[RunCell],
    spent: Spent,
    seconds: Mapping[Key, float],
    *,
    first: int,
    looks: int,
) -> str:
    """Return one short block: what was settled at which price, what is left and why, what was saved.

    Args:
        before: the run's cells when verdicts were first asked for.
        after: the same cells now.
        spent: what lies between.
        seconds: of a process of each experiment.
        first: processes of each experiment at first.
        looks: how often verdicts are asked for at most.
    """
    old, new = ({cell.pair: cell for cell in cells} for cells in (before, after))
    if not old:
        return "Verdicts: the run has no two variants or environments of a model to compare."
    doubtful = [pair for pair, cell in old.items() if cell.verdict.word == "ambiguous"]
    lines = [f"Verdicts: {_count(len(old), 'cell')}, none ambiguous: no further process was measured."]
    if doubtful:
        lines = [_settled([new[pair] for pair in doubtful if pair in new], len(doubtful), spent)]
    if left := _left(new.values(), spent, most_processes(first, looks)):
        lines.append(left)
    if saved := _saved(old, new, spent, seconds):
        lines.append(saved)
    level = 100 * level_of(looks)
    lines.append(f"Verdicts may be computed {looks} times, so all intervals of this run are {level:.3g} % ones.")
    return "\n".join(lines)


def _settled(now: list[RunCell], count: int, spent: Spent) -> str:
    words = Counter(cell.verdict.word for cell in now)
    settled = len(now) - words["ambiguous"]
    each = ", ".join(f"{word} {words[word]}" for word in ("faster", "slower", "same"))
    return (
        f"Verdicts: {settled} of {_count(count, 'ambiguous cell')} settled ({each}) "
        f"with {_count(spent.processes, 'further process', 'further processes')} in {spent.seconds:.0f} s."
    )


def _left(cells: Iterable[RunCell], spent: Spent, most: int) -> str:
    """Say how many cells stay ambiguous, and why each of them got no more processes."""
    reasons: Counter[str] = Counter()
    for cell in cells:
        reason = state(cell, most)
        if reason == "measured enough":
            reasons[f"still ambiguous with {most} processes, the limit"] += 1
        elif reason == "out of reach":
            reasons[f"more than {most} processes would be needed"] += 1
        elif reason == "reachable" and cell.pair in spent.unpaid:
            reasons[f"the time budget of {spent.budget_s:g} s does not suffice"] += 1
        elif reason == "reachable":
            reasons["the last allowed look at the verdicts was used"] += 1
    if not reasons:
        return ""
    why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
    return f"Left: {reasons.total()} ambiguous ({why})."


def _saved(old: Mapping[Pair, RunCell], new: Mapping[Pair, RunCell], spent: Spent, seconds: Mapping[Key, float]) -> str:
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
        f"Measuring every cell as often, by {as_often} processes, would have taken {sum(further.values())} further "
        f"processes and about {would:.0f} s"
    )
    if spent.seconds >= would:
        return f"{text}: nothing saved."
    return f"{text}: saved about {would - spent.seconds:.0f} s ({1 - spent.seconds / would:.0%})."


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"
