"""Measure results of a page again in a new run, all or some of them; and show the results of such reruns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import access, data, jobs
from dashboard.data.frames import iter_rows, with_suites
from dashboard.formatting import STATUS_WORDS, WRONG, count, escape, missing, ratio, seconds, shortened, when
from dashboard.jobs import planned
from dashboard.ui import doubts
from dashboard.ui.tables import TableColumn
from dashboard.view import View, links
from runner.jobs import rerun
from runner.jobs.check import LONGEST_NAME, LONGEST_TEXT
from runner.jobs.request import RunRequest

ALONE = (
    "Measures this side alone, in a new run. This shows whether the number is reproducible. It never confirms a "
    "difference between two sides: for that, page Compare measures both in turns."
)
FAILED = "failed"
_MOST_LISTED = 2000


MARK = "\N{CLOCKWISE OPEN CIRCLE ARROW}"
"""Mark of a result that a newer run measured again."""
_RUNS_NAMED = 3
COLUMN = TableColumn(
    "Measured again", "link", help="What the newest rerun found. It counts in no mean and in no comparison of this run."
)
"""Column of tables whose rows are results, filled by `cell`; a click opens the rerun."""


def later(view: View) -> list[Any]:
    """Return the results of newer runs that measured a few results of the shown run again, the newest first."""
    if not view.reruns:
        return []
    runs = data.runs(view.snapshot)
    newer = runs.loc[runs["run_started"] > view.started, "run_id"]
    return list(iter_rows(data.rows(view.snapshot, "reruns", view.selection, runs=list(newer))))


def newest(view: View) -> dict[str, Any]:
    """Return the newest result of each series from such runs, by the id of the series."""
    return {row.series_id: row for row in reversed(later(view))}


def outcome(row: Any) -> str:
    """Return the speedup of a result that was measured again, else its latency, else its status."""
    if WRONG in doubts.of_row(row):
        return WRONG
    if not missing(row.speedup) and row.speedup != 1:
        return ratio(row.speedup)
    if row.ran and not missing(row.latency_s):
        return f"{seconds(row.latency_s)} an iteration"
    return STATUS_WORDS.get(row.status, str(row.status))


def in_full(row: Any) -> str:
    """Return the outcome with the latency and the number of samples behind it."""
    short = outcome(row)
    if not row.ran or missing(row.latency_s):
        return short
    latency = f"{seconds(row.latency_s)} an iteration"
    return f"{latency if short == latency else f'{short}, {latency}'}, n = {int(row.steady_n)}"


def cell(row: Any | None) -> str | None:
    """Return the cell for a result that was measured again: outcome and label of the newest rerun."""
    return None if row is None else f"{MARK} {outcome(row)} · {shortened(row.run_label or row.run_id[:8], 24)}"


def run_of(row: Any) -> str:
    """Return label and time of the run that measured a result again."""
    return f"{shortened(row.run_label or row.run_id[:8])} of {when(row.run_started)}"


def show_runs(view: View, series: Collection[str], key: str) -> None:
    """Draw a link to each newer run that measured some of these series, given by their ids, again."""
    runs: dict[str, list[Any]] = {}
    for row in later(view):
        if row.series_id in series:
            runs.setdefault(row.run_id, []).append(row)
    for run, rows in list(runs.items())[:_RUNS_NAMED]:
        verb = "was" if len(rows) == 1 else "were"
        label = f"**{count(len(rows), 'result')} {verb} measured again** by run {escape(run_of(rows[0]))}"
        links.link(view, "speedup", label, key=f"{key}-rerun-{run}", icon=":material/replay:", run=run)


@dataclass(frozen=True)
class RerunCell:
    """One result of a run, and the groups with which it can be chosen."""

    run_id: str
    experiment_id: str
    environment: str
    text: str
    kinds: frozenset[str] = frozenset()


def of_rows(rows: pd.DataFrame, kind: str | None = None) -> list[RerunCell]:
    """Return the cells of a table's rows, which name run, experiment and environment.

    Failed ones form a group, as do the values of column `kind`.
    """
    cells = {}
    for row in iter_rows(with_suites(rows)):
        if missing(row.experiment_id) or not row.experiment_id:
            continue
        environment = "default" if missing(row.environment) else str(row.environment)
        names = [str(row.model), str(row.test), str(getattr(row, "series", row.variant))]
        cell = RerunCell(
            str(row.run_id), str(row.experiment_id), environment, " ".join(names), frozenset(_kinds(row, kind))
        )
        cells[cell.run_id, cell.experiment_id, cell.environment] = cell
    return list(cells.values())


def offer(view: View, cells: Sequence[RerunCell], *, key: str, selected: pd.DataFrame | None = None) -> None:
    """Draw the button that opens the choice; nothing if a page has no results.

    Args:
        view: the view; its baseline takes turns with the chosen results.
        cells: cells of one run or of several; those of the first cell's run are offered.
        key: key of the choice, unique on the page.
        selected: rows of the table above that the reader has selected; they are chosen at first.
    """
    if not cells:
        return
    run = cells[0].run_id
    run_cells = [cell for cell in cells if cell.run_id == run]
    rows = [] if selected is None else of_rows(selected)
    chosen = {(cell.run_id, cell.experiment_id, cell.environment) for cell in rows}
    preselected = [cell for cell in run_cells if (cell.run_id, cell.experiment_id, cell.environment) in chosen]
    with st.popover("Measure again", icon=":material/replay:", key=f"{key}-again", on_change="rerun") as part:
        if part.open:
            _choice(view, run, run_cells, preselected, key)


def one(view: View, cell: RerunCell, label: str, *, key: str, together_with: Collection[str] = ()) -> None:
    """Draw a button that measures one result again; a disabled one shows the reason.

    The backends `together_with` of the same model take turns with it.
    """
    file = planned.run_file(view.snapshot, cell.run_id)
    entries = (
        () if isinstance(file, str) else rerun.planned(file, [(cell.experiment_id, cell.environment)], together_with)
    )
    if isinstance(file, str) or not entries:
        why_not = file if isinstance(file, str) else "The plan of its run does not contain it."
        st.button(label, key=key, icon=":material/replay:", disabled=True, help=escape(why_not))
        return
    jobs.button(label, rerun.rerun(file, entries), f"again {file.run.label}"[:LONGEST_NAME], key=key, help=ALONE)


def _choice(view: View, run: str, cells: Sequence[RerunCell], at_first: Sequence[RerunCell], key: str) -> None:
    file = planned.run_file(view.snapshot, run)
    if isinstance(file, str):
        st.warning(escape(file), icon=":material/block:")
        return
    selected = _selected_cells(cells, at_first, key)
    baseline = view.selection.baseline
    with_baseline = st.toggle(
        f"Also measure {escape(baseline)} of the same models, in turns with them",
        value=True,
        key=f"{key}-baseline",
        help="Without its baseline, the new run has no speedup.",
    )
    targets = [(cell.experiment_id, cell.environment) for cell in selected]
    entries = rerun.planned(file, targets, (baseline,) if with_baseline else ())
    if not entries:
        st.caption("Choose results." if not selected else "The plan of the run contains none of these results.")
        return
    ask(view, rerun.rerun(file, entries), f"again {file.run.label}", key, ALONE)


def ask(view: View, request: RunRequest, label: str, key: str, meaning: str) -> None:
    """Draw the plan of a request, the boxes for name and reason, and the button that queues it.

    Below it is `meaning`, a sentence on what its results will show, and what not.
    """
    plan = planned.of(request)
    if isinstance(plan, str):
        st.warning(escape(plan), icon=":material/block:")
        return
    planned.brief(view.snapshot, plan)
    access.ask_name(f"{key}-name")
    reason = st.text_input("Why", key=f"{key}-why", max_chars=LONGEST_TEXT, placeholder="shown in the queue")
    button_label = f"Queue {count(len(plan.runnable), 'experiment')}"
    if plan.runnable:
        jobs.button(button_label, request, label[:LONGEST_NAME], key=f"{key}-queue", why=reason or "", main=True)
    st.caption(meaning)


def _selected_cells(cells: Sequence[RerunCell], at_first: Sequence[RerunCell], key: str) -> list[RerunCell]:
    """Draw the boxes of groups and names; return the cells that either of them chooses."""
    groups = _groups(cells)
    kinds = st.pills("Which", list(groups), selection_mode="multi", key=f"{key}-kinds")
    by_text = _by_text(cells[:_MOST_LISTED])
    preselected = [name for name, cell in by_text.items() if cell in at_first]
    suffix = "".join(f"-{cell.experiment_id}-{cell.environment}" for cell in at_first)
    names = st.multiselect(
        "Results", list(by_text), default=preselected, key=f"{key}-results{suffix}", placeholder="type to search"
    )
    selected = {id(cell): cell for kind in kinds for cell in groups[kind]}
    selected |= {id(by_text[name]): by_text[name] for name in names}
    return list(selected.values())


def _groups(cells: Sequence[RerunCell]) -> Mapping[str, list[RerunCell]]:
    """Return the groups `all failed (3)`, `all (12)`, … with their cells; each name contains the number of cells."""
    kinds = dict.fromkeys(kind for cell in cells for kind in sorted(cell.kinds))
    groups = {kind: [cell for cell in cells if kind in cell.kinds] for kind in kinds}
    labelled = {f"all {kind} ({len(members)})": members for kind, members in groups.items()}
    return {**labelled, f"all ({len(cells)})": list(cells)}


def _by_text(cells: Sequence[RerunCell]) -> dict[str, RerunCell]:
    by_text: dict[str, RerunCell] = {}
    for cell in cells:
        text = cell.text if cell.text not in by_text else f"{cell.text} · {cell.environment} · {cell.experiment_id[:8]}"
        by_text[text] = cell
    return by_text


def _kinds(row: object, kind: str | None) -> list[str]:
    status = getattr(row, "status", None)
    kinds = []
    if kind is not None and not missing(getattr(row, kind)):
        kinds.append(str(getattr(row, kind)))
    elif status in STATUS_WORDS and status not in doubts.NO_FAILURE:
        kinds.append(FAILED)
    return kinds
