"""History: the same series in every run that measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import data, links, tables
from dashboard.charts import past
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, count
from store.paired.sources import RULE

if TYPE_CHECKING:
    from dashboard.screens.model.result import Result
    from dashboard.view import View


def show(view: View, result: Result) -> None:
    """Draw latency over runs and the table of them; a selected row shows that run."""
    series = {"series": str(result.row["series_id"])}
    runs = data.rows(view.snapshot, "model_history", view.selection, **series)
    ran = runs[runs["ran"] & runs["latency_s"].notna()]
    st.caption(
        f"{count(len(runs), 'run')} of this series, {count(len(ran), 'run')} with a latency. A series is one model, "
        "test, variant, environment, dtype, batch size and machine. The ring marks the shown run."
    )
    if result.row["suite"] == "own":
        st.caption(RULE)
    if len(ran):
        points = pd.DataFrame(
            {
                "started": ran["run_started"],
                "run": ran["run_label"],
                "ms": ran["latency_s"] * 1e3,
                "low": ran["latency_low_s"] * 1e3,
                "high": ran["latency_high_s"] * 1e3,
                "n": ran["steady_n"],
                "torch": ran["torch"],
                "shown": ran["run_id"] == view.selection.run_id,
            }
        )
        chart = past.line(points, str(result.row["backend"]))
        st.altair_chart(chart, key="past", alt="Latency of this series over its runs")
    newest_first = runs.sort_values("run_started", ascending=False)
    picked = tables.show(
        newest_first.assign(status=[STATUS_WORDS.get(status, status) for status in newest_first["status"]]),
        _columns(),
        key="history",
        alt="Runs of this series; select one to show that run",
        file_name=view.file_name("history"),
        sql=data.statement("model_history", view.selection, **series),
        on_select="rerun",
    )
    if picked is not None and picked < len(runs):
        chosen = str(newest_first.iloc[picked]["run_id"])
        if chosen != view.selection.run_id:
            links.go(view, "model", run=chosen)


def _columns() -> dict[str, Column]:
    return {
        "run_label": Column("Run", pinned=True),
        "run_started": Column("Started (UTC)", "time"),
        "status": Column("Status"),
        "latency_s": measured("latency_s"),
        "latency_low_s": measured("latency_low_s"),
        "latency_high_s": measured("latency_high_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "verification_code": Column("Verification", "code"),
        "first_iteration_s": measured("first_iteration_s"),
        "fallback_ops_n": measured("fallback_ops_n"),
        "torch": Column("torch"),
        "torch_xla": Column("torch_xla"),
        "reason": Column("Why no number"),
    }
