"""Fallback ops and graph breaks of one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, links, tables
from dashboard.rows import each
from dashboard.screens.fallback_ops.payoffs import GAINS
from dashboard.tables import Column, measured
from dashboard.words import CLASSES, escape, interval, missing

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.screens.model.result import Result
    from dashboard.view import View


def show(view: View, result: Result) -> None:
    """Draw the ops that left the device, then the places where dynamo split the graph."""
    _ops(view, result)
    breaks = data.rows(view.snapshot, "model_breaks", view.selection, **result.keys)
    st.markdown("**Graph breaks**")
    if breaks.empty:
        st.caption("None: dynamo captured one graph, or this backend captures none.")
        return
    tables.show(
        breaks,
        {"reason": Column("Reason"), "count": measured("count")},
        key="breaks",
        alt="Graph breaks of the result",
        file_name=view.file_name("graph-breaks"),
        sql=data.statement("model_breaks", view.selection, **result.keys),
    )


def _ops(view: View, result: Result) -> None:
    st.markdown("**Fallback ops**")
    if not str(result.row["backend"]).startswith(("openxla", "torchxla")):
        st.caption(f"{escape(result.row['backend'])} runs no XLA program: it has no fallback ops.")
        return
    ops = data.rows(view.snapshot, "model_fallbacks", view.selection, **result.keys)
    if ops.empty:
        st.caption("None: XLA lowered every operation." if result.row["ran"] else "Not known: the result did not run.")
        return
    listed = ops.assign(
        klass=[CLASSES.get(klass, (klass, ""))[0] for klass in ops["klass"]],
        payoff_said=[_payoff(row) for row in each(ops)],
    )
    picked = tables.show(
        listed,
        _columns(ops),
        key="ops",
        alt="Fallback ops of the result; select one for all its models",
        file_name=view.file_name("model-fallback-ops"),
        sql=data.statement("model_fallbacks", view.selection, **result.keys),
        on_select="rerun",
    )
    if picked is not None and picked < len(ops):
        links.go(view, "fallback-ops", op=str(ops.iloc[picked]["op"]), model=None, suite=None, test=None)


def _payoff(row: Any) -> str:
    """Return what lowering the op was measured to pay this model, or why that is not known."""
    if missing(row.payoff) and missing(row.payoff_reason):
        return "" if row.klass == "host_read" else "not measured"
    if missing(row.payoff):
        return f"no payoff: {row.payoff_reason}"
    known = interval(row.payoff_low, row.payoff_high) if not missing(row.payoff_low) else "one process"
    return f"{known}, {GAINS[int(row.gain)]}" if not missing(row.gain) else known


def _columns(ops: pd.DataFrame) -> dict[str, Column]:
    columns = {
        "op": Column("Op", pinned=True),
        "klass": Column("Class", help=" ".join(f"{name}: {what}" for name, what in CLASSES.values())),
        "calls_per_iteration": measured("calls_per_iteration"),
        "calls_compile": measured("calls_compile"),
        "time_s": measured("time_s"),
        "payoff": measured("payoff"),
        "payoff_said": Column("Measured without it"),
        "call_site": Column("Called from"),
    }
    if ops["time_s"].isna().all():
        st.caption("No profile was taken, so the time of the ops is not known: --profile-cuda-cpu-individual-ops.")
    return columns
