"""The verdicts within a job's run: its environments beside each other, its backends beside their baseline."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import streamlit as st

from dashboard import run_files, snapshot, verdicts
from dashboard.words import escape
from store.compare import Side, compare, resolve
from store.compare.within_run import judged, pairs
from store.weekly.speed import CONFIRMED, MOVED, NOT_CONFIRMED, SUSPECTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.jobs.request import ConfirmRequest
    from store.stats.verdicts import Verdict

_CONFIRMING = ("old", "new")
"""What `compare --confirm` calls two environments of one run in the run that measures them again."""


@st.cache_data(max_entries=50, show_spinner=False)
def of_run(shown: str, run: str) -> list[str]:
    """Return a line for each two sides that a run holds, as markdown; none where it has one side alone."""
    file = run_files.of(shown, run)
    if isinstance(file, str):
        return []
    found: dict[tuple[str, str], list[Verdict]] = {}
    for cell in judged(snapshot.connection(shown), run, pairs(file.plan)):
        found.setdefault((cell.pair.old, cell.pair.new), []).append(cell.verdict)
    return [_line(*names, counted(each, SUSPECTED)) for names, each in found.items()]


def of_confirmation(shown: str, run: str, request: ConfirmRequest) -> str:
    """Return the verdicts of a confirming run over two environments or backends of one run; empty where it has none.

    Raises:
        UsageError: a side is in the store no more.
    """
    con = snapshot.connection(shown)
    old, new = (resolve(con, text, request.run) for text in (request.old, request.new))
    if old.variant is None:
        sides = [Side(text=name, run_id=run, environment=name) for name in _CONFIRMING]
    else:
        sides = [msgspec.structs.replace(side, run_id=run) for side in (old, new)]
    return counted([cell.verdict for cell in compare(con, *sides).cells], NOT_CONFIRMED)


def counted(found: Iterable[Verdict], unsure: str) -> str:
    """Return `1 slower, confirmed, 2 unchanged`, coloured.

    Args:
        found: the verdicts.
        unsure: what a slower or faster one is that the run does not confirm.
    """
    numbers = Counter((each.word, _certainty(each, unsure)) for each in found)
    return ", ".join(
        verdicts.coloured(word, f"{number} {verdicts.look(word).word}{certainty and ', '}{certainty}")
        for (word, certainty), number in sorted(numbers.items())
    )


def _certainty(verdict: Verdict, unsure: str) -> str:
    if verdict.word not in MOVED:
        return ""
    return CONFIRMED if verdict.confirmed else unsure


def _line(old: str, new: str, said: str) -> str:
    return f"- **{escape(new)}** against {escape(old)}: {said}"
