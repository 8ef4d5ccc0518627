"""One result: its row, its record as it was read, and the keys under which queries know it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data
from dashboard.words import STATUS_WORDS, escape, missing

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


@dataclass(frozen=True)
class Result:
    """A row of `speedups`, with its record."""

    row: pd.Series
    document: dict[str, Any] | None
    """The record as its line was read; None where the run ended before there was one."""

    @classmethod
    def of(cls, view: View, row: pd.Series) -> Result:
        """Read the record behind a row."""
        environment = None if missing(row["environment"]) else str(row["environment"])
        found = data.record(view.snapshot, str(row["run_id"]), str(row["experiment_id"]), environment)
        return cls(row, _document(found))

    @property
    def keys(self) -> dict[str, Any]:
        """Parameters of the queries `model_*` beside the selection's."""
        return {"experiment": str(self.row["experiment_id"]), "environment": self.fact("environment")}

    def fact(self, name: str) -> str | None:
        """Return a text of the row, None where it is unknown."""
        value = self.row[name]
        return None if missing(value) or value == "" else str(value)

    def reproduce(self) -> None:
        """Draw why there is no number, where there is none, and the command that measures this again."""
        status = str(self.row["status"])
        if not self.row["ran"] and self.fact("reason"):
            phase = f" in phase {escape(self.row['failure_phase'])}" if self.fact("failure_phase") else ""
            st.markdown(f"**{escape(STATUS_WORDS.get(status, status))}**{phase}:")
            st.text(str(self.row["reason"]))
            traceback = ((self.document or {}).get("error") or {}).get("traceback")
            if traceback:
                with st.expander("Traceback", icon=":material/bug_report:"):
                    st.code(str(traceback), language=None, height=320)
        command = self.fact("reproduce")
        if command:
            st.caption("Measure this again:")
            st.code(command, language="bash", wrap_lines=True)


def _document(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None or missing(found["record"]) or not found["record"]:
        return None
    text = found["record"]
    document: dict[str, Any] = json.loads(text) if isinstance(text, str) else dict(text)
    return document
