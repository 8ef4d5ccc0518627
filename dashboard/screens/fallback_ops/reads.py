"""Where programs ask for a value on the host: nothing to lower, so the place in the source is what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data
from dashboard.screens import opening
from dashboard.tables import Column, measured
from store.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


_CLASS = "host_read"


def show(view: View, calls: pd.DataFrame) -> None:
    """Draw the host reads of the view with their call sites."""
    st.subheader("Host reads", anchor=False)
    reads = calls[calls["klass"] == _CLASS]
    if reads.empty:
        st.markdown("No result of this view read a value on the host.")
        return
    st.caption("Each read waits for the device. No lowering can remove it: change the code that reads the value.")
    listed = reads.assign(call_sites=[sites(found) for found in reads["call_sites"]])
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "series": Column("Backend"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "call_sites": Column("Asked for at", help="Place in the program, as found by one more process."),
        "calls_per_iteration": Column("Reads/iteration", "decimal", help=metric("calls_per_iteration").definition),
        "calls_compile": measured("calls_compile", "While compiling"),
        "time_share": measured("time_share", "Time"),
        "op": Column("Op"),
    }
    opening.table(
        view,
        listed,
        columns,
        key="reads",
        alt="Values read on the host, with their call sites",
        file_name="host-reads",
        sql=data.statement("fallback_calls", view.selection, op=None, klass=_CLASS),
        told_once=("suite", "accelerator", "op"),
    )


def sites(found: list[str]) -> str:
    """Return call sites as one text."""
    return ", ".join(found) if len(found) else "the place was not found"
