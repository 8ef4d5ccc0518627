"""Ways from here: to the fallback ops of the same name, and to a run that measured operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, links
from dashboard.rows import each
from dashboard.words import CLASSES, count, escape, when

if TYPE_CHECKING:
    from dashboard.view import View

_ANYWHERE = {"suite": None, "model": None, "backend": None, "test": None, "accelerator": None, "dtype": None}
"""A link that takes no filter along: they were chosen for what the other page shows."""


def none_here(view: View) -> None:
    """Say that the run measured no operators, how that is done, and which run of the store has some."""
    st.info("This run measured no operators.", icon=":material/info:")
    st.markdown("Measure those of a configuration, or those that a model calls, under every backend:")
    with st.container(width=720):
        st.code(
            "xlabench run --suite-name operators --config FILE\nxlabench run --ops-of huggingface/BertTiny",
            wrap_lines=True,
        )
    for row in each(data.rows(view.snapshot, "operator_newest_run", view.selection)):
        found = count(int(row.operators_n), "operator")
        label = f"Show the newest run that did: {escape(row.run_label)} of {when(row.run_started)}, {found}"
        links.link(view, "operators", label, key="with-operators", icon=":material/function:", run=row.run_id)


def fallbacks(view: View, operator: str) -> None:
    """Draw a way to the fallback op that this operator is, where results of the run call one."""
    for row in each(data.rows(view.snapshot, "operator_fallbacks", view.selection, op=operator)):
        name, _ = CLASSES.get(row.klass, (row.klass, ""))
        label = f"Fallback op **{escape(row.op)}** ({escape(name.lower())}): {_callers(row.models_n, row.operators_n)}"
        links.link(
            view,
            "fallback-ops",
            label,
            key=f"falls-back-{row.op}",
            icon=":material/call_split:",
            op=row.op,
            **_ANYWHERE,
        )


def measured_alone(view: View, op: str) -> None:
    """Draw ways from a fallback op to what it takes alone: in this run, else in the newest one that measured it."""
    found = data.rows(view.snapshot, "operator_runs", view.selection, op=op)
    newest = found[found["run_id"] == found["run_id"].iloc[0]] if len(found) else found
    for row in each(newest):
        where = "" if row.shown else f", run {escape(row.run_label)} of {when(row.run_started)}"
        links.link(
            view,
            "operators",
            f"Measured alone as **{escape(row.operator)}**, {count(int(row.calls_n), 'call')}{where}",
            key=f"alone-{row.operator}",
            icon=":material/function:",
            operator=row.operator,
            **_ANYWHERE | {"run": row.run_id},
        )
    if found.empty:
        st.caption("No run has measured it alone; `xlabench run --suite-name operators --config FILE` does.")


def _callers(models: int, operators: int) -> str:
    texts = [count(int(models), "model")] if models else []
    texts += [count(int(operators), "operator")] if operators else []
    return f"called by {' and '.join(texts)} of this run"
