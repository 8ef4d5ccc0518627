"""Ops in the order in which to lower them; a row opens the op."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, pending_values, tables
from dashboard.rows import each
from dashboard.screens import choosing
from dashboard.screens.fallback_ops import payoffs
from dashboard.tables import Column, measured
from dashboard.words import CLASSES, count

if TYPE_CHECKING:
    from dashboard.view import View

ORDERS: dict[str, str] = {
    "Measured payoff": "payoff",
    "Milliseconds saved": "saved",
    "Models blocked only by this op": "blocked",
}
"""Label → order of the query."""
_TABLE = "ops"


def show(view: View) -> None:
    """Draw the choice of an order, and the table."""
    st.subheader("Ranking", anchor=False)
    asked = ORDERS[choosing.segments("Ranked by", list(ORDERS), "ranking")]
    ranked = data.rows(view.snapshot, "fallback_ranking", view.selection, order=asked)
    measured_n = int((ranked["payoffs_n"] > 0).sum())
    profiled = int((ranked["time_n"] > 0).sum())
    shown = ranked.assign(
        **{
            "class": [CLASSES.get(klass, (klass, ""))[0] for klass in ranked["klass"]],
            "models": [", ".join(names) for names in ranked["models"]],
            "payoff_said": [payoffs.of_op(row) for row in each(ranked)],
            "blocked_models": [", ".join(names) for names in ranked["blocked_models"]],
        }
    )
    tables.show(
        shown,
        _columns(),
        key=_TABLE,
        alt="Fallback ops, the one to lower first on top",
        file_name=view.file_name("fallback-ops"),
        sql=data.statement("fallback_ranking", view.selection, order=asked),
        on_select=partial(_open, list(ranked["op"])),
    )
    st.caption(
        f"The payoff is how much faster a model was with the op replaced ({measured_n} of "
        f"{count(len(ranked), 'op')} measured; the page of an op measures it). Proven gains come first, ops whose "
        "replacement was slower last, and between them, by what they save, the others. Saved is the most that lowering "
        "the op can take off an iteration: its time under the profiler, and never more than the iteration itself "
        f"({profiled} profiled). Host reads come last: no lowering can remove them."
    )


def _open(ops: list[str]) -> None:
    """Choose the op of the selected row; the page is drawn anew with it."""
    rows = st.session_state[_TABLE]["selection"]["rows"]
    if rows:
        pending_values.leave("op", ops[rows[0]])


def _columns() -> dict[str, Column]:
    most = "That of the result with most; iterations of different models are never summed."
    return {
        "op": Column("Op", pinned=True),
        "class": Column("Class"),
        "saved_s": Column(
            "Saved, ms",
            "ms",
            help=f"What lowering the op takes off an iteration at most. {most} — where nothing was profiled.",
        ),
        "payoff": measured("payoff", note="That of the result with the largest gain."),
        "payoff_said": Column("How sure", help=payoffs.LIMITS),
        "ranked_by": Column(
            "Ranked by", hidden=True, help="time: share of time where it is most; calls: not profiled."
        ),
        "time_share": measured("time_share", "Time", f"{most} — where there was no profile pass."),
        "calls_per_iteration": Column("Calls/iteration", "decimal", help=f"Calls per iteration. {most}"),
        "steady_models_n": measured("steady_models_n", "Models"),
        "blocked_n": measured("blocked_n", "Blocked only by it"),
        "calls_compile": measured("calls_compile", "Calls while compiling", most, hidden=True),
        "results_n": measured("results_n", hidden=True),
        "time_n": measured("time_n", hidden=True),
        "blocked_models": Column("Blocked models", help="Models that call no other fallback op.", hidden=True),
        "models": Column("In models"),
    }
