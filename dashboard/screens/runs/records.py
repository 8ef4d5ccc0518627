"""Records: every line of the run, one of them as it was read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, tables
from dashboard.tables import Column, measured
from dashboard.words import STATUS_WORDS, escape, missing

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

_LONGEST_ID = 80


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the table of records, and the one that is selected, typed or linked."""
    del rows
    found = data.rows(view.snapshot, "run_records", view.selection)
    listed = found.assign(status=[STATUS_WORDS.get(status, status) for status in found["status"]])
    position = tables.show(
        listed,
        tables.without_constant(_columns(), listed, ["suite", "accelerator", "environment", "twin_of", "reason"]),
        key="records",
        alt="Records of the run; select one to read it",
        file_name=view.file_name("records"),
        sql=data.statement("run_records", view.selection),
        on_select="rerun",
    )
    typed = st.text_input("Record id", key="record", bind="query-params", max_chars=_LONGEST_ID, width=320)
    if position is not None and position < len(found):
        _one(view, str(found.iloc[position]["record_id"]))
    elif typed:
        _one(view, typed.strip())


def _one(view: View, record: str) -> None:
    lines = data.rows(view.snapshot, "one_record", view.selection, record=record)
    if lines.empty:
        st.warning(f"The store has no record “{escape(record)}”.", icon=":material/search_off:")
        return
    first = lines.iloc[0]
    text = first["record"] if isinstance(first["record"], str) else json.dumps(first["record"])
    st.markdown(f"**{escape(record)}** · {escape(first['purpose'])} · by {escape(first['source'])}")
    for path, offset in zip(lines["path"], lines["byte_offset"], strict=True):
        if not missing(path):
            st.caption(f"{escape(path)}, byte {int(offset):,}")
    st.json(text, expanded=1)
    st.download_button(
        "The record as JSON",
        data=text,
        file_name="record.json",
        mime="application/json",
        key="record-json",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def _columns() -> dict[str, Column]:
    return {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend"),
        "environment": Column("Environment"),
        "purpose": Column("Purpose", help="benchmark, calibration, confirmation, payoff, reported by another tool."),
        "replica": Column("Process", "number", help="Measuring process of the experiment, from 0."),
        "attempt": measured("attempt"),
        "twin_of": Column("A/A control of", help="An A/A control measures the same once more: it is in no rate."),
        "status": Column("Status"),
        "latency_s": measured("latency_s"),
        "steady_n": Column("n", "number", help="Steady samples behind the latency."),
        "verification_code": Column("Verification", "code", hidden=True),
        "finished_at": Column("Finished (UTC)", "time"),
        "reason": Column("Why no number"),
        "record_id": Column("Record id", hidden=True),
    }
