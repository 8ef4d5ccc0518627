"""Graph breaks of the view: the reasons for which dynamo split graphs, and each result behind them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, with_series, with_suites
from dashboard.formatting import count
from dashboard.ui import opening, tables
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View


def show(view: View) -> None:
    """Draw the reasons, and each result behind them."""
    st.subheader("Graph breaks", anchor=False)
    breaks = with_series(data.rows(view.snapshot, "graph_breaks", view.selection))
    if breaks.empty:
        st.markdown("No result of this view has a recorded graph break.")
        return
    columns = {
        "headline": TableColumn(
            "Reason", pinned=True, help="First line of the reason; a hidden column and the files have all of it."
        ),
        "models_n": TableColumn("Models", "number", help="Models in which dynamo split the graph for this reason."),
        "count": measured("count", "Most breaks", "The largest number of a result."),
        "results_n": measured("results_n"),
        "variants": TableColumn("Backends"),
        "models": TableColumn("In models"),
        "reason": TableColumn("In full", hidden=True),
    }
    tables.show(
        reasons(breaks),
        columns,
        data.TableSource(
            view.file_name("graph-break-reasons"),
            {"Results, one row each": data.statement("graph_breaks", view.selection)},
        ),
        key="break-reasons",
        alt="Reasons of graph breaks by number of models",
    )
    title = f"Each result, {count(len(breaks), 'row')}"
    with st.expander(title, key="each-break", on_change="rerun") as part:
        if part.open:
            _table(view, breaks)


def reasons(breaks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per reason for which dynamo split graphs, the one of most models first.

    Breaks of different models are not summed: `count` is that of the result with most.
    """
    parts: dict[str, list[Any]] = defaultdict(list)
    for row in iter_rows(with_suites(breaks)):
        parts[row.reason].append(row)
    reasons: list[dict[str, Any]] = [
        {
            "headline": reason.split("\n", 1)[0],
            "models_n": len({(row.suite, row.model) for row in part}),
            "results_n": len({(row.experiment_id, row.environment) for row in part}),
            "count": max(row.count for row in part),
            "models": ", ".join(sorted({row.model for row in part})),
            "variants": ", ".join(sorted({row.variant for row in part})),
            "reason": reason,
        }
        for reason, part in parts.items()
    ]
    reasons.sort(key=lambda row: (-row["models_n"], -row["count"], row["reason"]))
    return pd.DataFrame(reasons)


def _table(view: View, breaks: pd.DataFrame) -> None:
    columns = {
        **naming("model", "suite", "series", "test", "accelerator"),
        "count": measured("count"),
        "reason": TableColumn("Reason"),
    }
    opening.table(
        view,
        breaks,
        columns,
        data.source(view, "graph-breaks"),
        key="breaks",
        alt="Graph breaks of each result",
        omitted_if_constant=("suite", "accelerator"),
    )
