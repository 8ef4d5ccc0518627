"""The page: sentences, what needs attention, the means as a chart, and the tables of the chosen rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import answers, data, empty, filters, frame
from dashboard.screens import reported
from dashboard.screens.overview import attention, matrix, pairing, recurring, rules, scoreboard
from dashboard.selection import RULES
from dashboard.words import count, escape, when

if TYPE_CHECKING:
    from dashboard.view import View


def show(view: View) -> None:
    """Draw the page."""
    counts = data.rows(view.snapshot, "counts", view.selection)
    if counts.empty:
        frame.head("Overview", view, [state(view)], 0, baseline=True)
        recurring.show(view.snapshot)
        empty.no_rows(view.selection, "results")
        return
    board = scoreboard.read(view, counts)
    results = int(counts["results_n"].sum())
    frame.head("Overview", view, _sentences(view, board), results, baseline=True)
    _offer_baseline(view, board)
    matrix.show(view, board)
    attention.show(view, board.base, scoreboard.slower_n(board))
    recurring.show(view.snapshot)
    matrix.models(view)
    _numbers(view, board)
    attention.table(view)


def _numbers(view: View, board: scoreboard.Board) -> None:
    """Draw the tables of the chosen rule."""
    st.subheader("The numbers", anchor=False)
    st.segmented_control(
        "Rule",
        list(RULES.values()),
        default=RULES["paired"],
        required=True,
        key="rule",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    if view.selection.rule == "paired":
        scoreboard.show(view, board)
        pairing.show(view)
        return
    rules.show(view)


def show_empty() -> None:
    """Draw the page over a store without a run: a night that should have filled it is said first."""
    reported.instead_of_runs("Overview")
    recurring.show(None)


def state(view: View) -> str:
    """Say whether the run is complete and what happened to its experiments."""
    run = view.run
    kind = (
        ("planned experiment", None)
        if run["plan_known"]
        else ("experiment of a file without a plan", "experiments of a file without a plan")
    )
    parts = [f"{int(run['ran_n']):,} of {count(int(run['planned_n']), *kind)} ran"]
    for name, word in (
        ("failed_n", "failed"),
        ("verify_only_n", "verified only"),
        ("never_steady_n", "never steady"),
        ("disturbed_n", "disturbed by other programs"),
        ("skipped_n", "skipped"),
        ("not_run_n", "not run"),
    ):
        if run.get(name):
            parts.append(f"{int(run[name]):,} {word}")
    became = "is complete" if run["complete"] else "is not complete"
    if run.get("failed_n") and not run["ran_n"]:
        became = "measured nothing"
    name = f"{escape(view.run_name)} of {when(view.started)}"
    subject = f"The last run, {name}," if view.newest else f"Run {name}"
    return f"{subject} {became}: {', '.join(parts)}"


def _sentences(view: View, board: scoreboard.Board) -> list[str]:
    """Return the state of the run, what moved, and the geometric means."""
    rows = data.speedups(view.snapshot, view.selection)
    said = answers.geomean_sentences(board.means, view.selection.baseline, rows)
    if not said and board.has_results:
        said = [answers.no_speedup(data.speedups(view.snapshot, view.selection), view.selection.baseline)]
    moved = scoreboard.moved_sentence(board, view.selection.baseline)
    return [*said[:1], *([moved] if moved else []), state(view)]


def _offer_baseline(view: View, board: scoreboard.Board) -> None:
    """Where nothing can be compared, offer the backend of this run that most could be compared with."""
    if board.means["geomean"].notna().any() or not board.has_results:
        return
    ran = board.means.groupby("variant")["ran_n"].sum()
    offered = [name for name in data.choices(view.snapshot).baselines if name in ran.index and ran[name] > 0]
    best = max(offered, key=lambda name: ran[name], default=None)
    if best is not None:
        label = f"Compare with {escape(best)}"
        st.button(label, on_click=filters.choose_baseline, args=(best,), type="primary", key="offer-baseline")
