"""Confirm: both sides of suspected changes measured again in turns, each in its own environment, by one click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, launching, rerun, run_files
from dashboard.words import count, escape, shortened
from runner.jobs import rerun as requests
from runner.jobs.request import ConfirmRequest
from store.compare.cells import ALIKE
from store.weekly.speed import NOT_CONFIRMED, SUSPECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dashboard.view import View
    from store.compare import Cell, Side
    from store.review import Finding, Review

_ACCELERATOR = ALIKE.index("accelerator")


def bar(view: View, found: Review, findings: Sequence[Finding]) -> None:
    """Draw what can be measured again of the whole comparison."""
    slower = [each for each in findings if each.word == "slower" and each.certainty == SUSPECTED]
    faster = [each for each in findings if each.word == "faster" and each.certainty == SUSPECTED]
    ambiguous = found.cells("ambiguous")
    cells = _cells(found, findings)
    if not (slower or faster or ambiguous or cells):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="confirm-bar"):
        if slower:
            _button(view, found, f"Confirm {count(len(slower), 'regression')}", slower, "confirm-slower", main=True)
        if faster:
            _button(view, found, f"Confirm {len(faster)} faster", faster, "confirm-faster")
        if ambiguous:
            _all(view, found, ambiguous)
        rerun.offer(view, cells, key="compare")
        access.ask_name("confirm-name")
    _why_not(view, found, _before(found, (*slower, *faster)) or ambiguous)


def one(view: View, found: Review, finding: Finding) -> None:
    """Draw what can be measured again of one finding: both sides where it is of speed and not sure, side B alone."""
    if not finding.experiment_id or not finding.now:
        return
    with st.container(horizontal=True, key="confirm-it"):
        if finding.cell is not None and finding.certainty in (SUSPECTED, NOT_CONFIRMED):
            what = "Confirm it" if finding.certainty == SUSPECTED else "Confirm it again"
            _button(view, found, what, [finding], "confirm-one")
        rerun.one(view, _cell(found.new.run_id, finding), "Measure B again", key="again-one")


def _all(view: View, found: Review, ambiguous: Sequence[Cell]) -> None:
    """Offer the ambiguous cells; both sides of them, in turns."""
    label = f"Measure all {len(ambiguous)} ambiguous again"
    request = _request(found, "all", ambiguous)
    _draw(view, found, label, request, ambiguous, "confirm-ambiguous", main=False)


def _button(
    view: View, found: Review, label: str, findings: Sequence[Finding], key: str, *, main: bool = False
) -> None:
    before = _before(found, findings)
    _draw(view, found, label, _request(found, "suspected", before), before, key, main=main)


def _draw(
    view: View, found: Review, label: str, request: ConfirmRequest, cells: Sequence[Cell], key: str, *, main: bool
) -> None:
    """Draw the button, or where the sides cannot be measured so, the button switched off with the reason."""
    why_not = obstacle(view, found, cells)
    if why_not is not None:
        st.button(label, key=key, icon=":material/compare_arrows:", disabled=True, help=escape(why_not))
        return
    name = f"confirm {shortened(found.old.text)} {shortened(found.new.text)}"
    launching.button(label, request, name, key=key, icon=":material/compare_arrows:", main=main)


def _why_not(view: View, found: Review, cells: Sequence[Cell]) -> None:
    """Say once, below the buttons, why they are off."""
    decision = access.may_launch()
    said = (obstacle(view, found, cells) if cells else None) or (None if decision.allowed else decision.reason)
    if said and said != access.NAMELESS:
        st.caption(f":material/lock: {escape(said)}")


def obstacle(view: View, found: Review, cells: Iterable[Cell]) -> str | None:
    """Say why both sides of these cells cannot be measured again as they were, or None."""
    files = [run_files.of(view.snapshot, side.run_id) for side in (found.old, found.new)]
    for file in files:
        if isinstance(file, str):
            return file
    old, new = (file for file in files if not isinstance(file, str))
    pairs = [(cell.old_environment, cell.environment) for cell in cells]
    return requests.cannot_confirm((old, new), pairs, access.job_queue().home, same_code=not found.new.variant)


def _request(found: Review, which: str, cells: Sequence[Cell]) -> ConfirmRequest:
    old, new = found.old, found.new
    inside = None if found.across_runs else new.run_id
    sides = (old.run_id, new.run_id) if inside is None else (_axis(old), _axis(new))
    return ConfirmRequest(
        old=sides[0],
        new=sides[1],
        run=inside,
        cells="all" if which == "all" else "suspected",
        experiments=tuple(dict.fromkeys(cell.experiment_id for cell in cells)),
        accelerator=tuple(dict.fromkeys(cell.alike[_ACCELERATOR] for cell in cells)),
    )


def _axis(side: Side) -> str:
    return side.environment or side.variant or side.text


def _before(found: Review, findings: Iterable[Finding]) -> list[Cell]:
    """Return the cells of the comparison behind findings: a finding may show the better evidence of another run."""
    known = {(cell.experiment_id, cell.environment): cell for cell in found.comparison.cells}
    keys = [(each.experiment_id, each.environment) for each in findings]
    return [known[key] for key in keys if key in known]


def _cell(run: str, finding: Finding) -> rerun.Cell:
    kind = finding.word if finding.group == "speed" else rerun.FAILED
    text = f"{finding.model} {finding.test} {finding.variant}"
    return rerun.Cell(run, finding.experiment_id, finding.environment, text, frozenset({kind}))


def _cells(found: Review, findings: Sequence[Finding]) -> list[rerun.Cell]:
    """Return what side B measured and somebody may doubt."""
    run = found.new.run_id
    cells = [
        _cell(run, each)
        for each in (*findings, *found.still)
        if each.experiment_id and each.now and each.group in ("speed", "failure") and not each.good
    ]
    cells += [
        rerun.Cell(
            run,
            cell.experiment_id,
            cell.environment,
            f"{cell.model} {cell.test} {cell.variant}",
            frozenset({"ambiguous"}),
        )
        for cell in found.cells("ambiguous")
    ]
    return cells
