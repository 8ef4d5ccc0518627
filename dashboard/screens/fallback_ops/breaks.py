"""Graph breaks: for which reasons dynamo split graphs, and in which results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, tables
from dashboard.rows import with_series
from dashboard.screens import opening
from dashboard.tables import Column, measured
from dashboard.words import count

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


def show(view: View) -> None:
    """Draw the reasons, and each result behind them."""
    st.subheader("Graph breaks", anchor=False)
    reasons = data.rows(view.snapshot, "graph_break_reasons", view.selection)
    if reasons.empty:
        st.markdown("No result of this view has a recorded graph break.")
        return
    listed = reasons.assign(
        models=[", ".join(names) for names in reasons["models"]],
        variants=[", ".join(names) for names in reasons["variants"]],
    )
    columns = {
        "headline": Column("Reason", pinned=True, help="Its first line; the hidden column and the files have all."),
        "models_n": Column("Models", "number", help="Models in which dynamo split the graph for this reason."),
        "count": measured("count", "Breaks (most)", "Those of the result with most."),
        "results_n": measured("results_n"),
        "variants": Column("Backends"),
        "models": Column("In models"),
        "reason": Column("In full", hidden=True),
    }
    tables.show(
        listed,
        columns,
        key="break-reasons",
        alt="Reasons of graph breaks by number of models",
        file_name=view.file_name("graph-break-reasons"),
        sql=data.statement("graph_break_reasons", view.selection),
    )
    _results(view)


def _results(view: View) -> None:
    breaks = with_series(data.graph_breaks(view.snapshot, view.selection))
    title = f"Each result, {count(len(breaks), 'row')}"
    with st.expander(title, key="each-break", on_change="rerun") as part:
        if part.open:
            _each(view, breaks)


def _each(view: View, breaks: pd.DataFrame) -> None:
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "series": Column("Backend"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "count": measured("count"),
        "reason": Column("Reason"),
    }
    opening.table(
        view,
        breaks,
        columns,
        key="breaks",
        alt="Graph breaks of each result",
        file_name="graph-breaks",
        sql=data.statement("graph_breaks", view.selection),
        told_once=("suite", "accelerator"),
    )
