"""One result: its row, its record as it was read, and the keys under which queries know it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
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

    view: View
    row: pd.Series
    beside: tuple[str, ...]
    """Records of all results of its model and test in the run, its own among them. What another backend gave is looked
    at next: asked for together, it is there."""

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The record as its line was read; None where the run ended before there was one."""
        found = self.rows("model_records")
        if found.empty or missing(text := found["record"].iloc[0]) or not text:
            return None
        document: dict[str, Any] = json.loads(text) if isinstance(text, str) else dict(text)
        return document

    def rows(self, name: str) -> pd.DataFrame:
        """Return its rows of a query that takes `records` and tells results apart by `result`."""
        found = data.rows(self.view.snapshot, name, self.view.selection, records=list(self.beside))
        return found[found["result"] == self.fact("record_id")].reset_index(drop=True)

    def statement(self, name: str) -> str:
        """Return that query with its own record alone, to show and to copy."""
        return data.statement(name, self.view.selection, records=[self.fact("record_id")])

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
