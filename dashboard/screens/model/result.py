"""One result of a model: its record and queries, its identity, and each of its metrics with the definition."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import data, downloads
from dashboard.rows import each
from dashboard.words import DASH, STATUS_WORDS, escape, missing
from store.metrics import METRICS

if TYPE_CHECKING:
    from dashboard.view import View


@dataclass(frozen=True)
class ModelResult:
    """A row of `speedups`, with its record."""

    view: View
    row: pd.Series
    beside: tuple[str, ...]
    """Records of all results of its model and test in the run, including its own. One query reads all of them, because
    the result of another backend is usually shown next."""

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The record as its line was read, or None where the run ended before it was written."""
        records = self.rows("model_records")
        if records.empty or missing(text := records["record"].iloc[0]) or not text:
            return None
        document: dict[str, Any] = json.loads(text) if isinstance(text, str) else dict(text)
        return document

    def rows(self, name: str) -> pd.DataFrame:
        """Return the result's rows of a query that has parameter `records` and column `result`."""
        all_rows = data.rows(self.view.snapshot, name, self.view.selection, records=list(self.beside))
        return all_rows[all_rows["result"] == self.fact("record_id")].reset_index(drop=True)

    def statement(self, name: str) -> str:
        """Return the SQL of that query for this result's record alone, to show and to copy."""
        return data.statement(name, self.view.selection, records=[self.fact("record_id")])

    @property
    def keys(self) -> dict[str, Any]:
        """Parameters that the queries `model_*` take beyond the selection's."""
        return {"experiment": str(self.row["experiment_id"]), "environment": self.fact("environment")}

    def fact(self, name: str) -> str | None:
        """Return a column of the row as text, or None where it is unknown."""
        value = self.row[name]
        return None if missing(value) or value == "" else str(value)

    def reproduce(self) -> None:
        """Draw why the result has no number, if it has none, and the command that measures it again."""
        status = str(self.row["status"])
        if not self.row["ran"] and self.fact("reason"):
            phase = f" in phase {escape(self.row['failure_phase'])}" if self.fact("failure_phase") else ""
            st.markdown(f"**{escape(STATUS_WORDS.get(status, status))}**{phase}:")
            st.text(str(self.row["reason"]))
            traceback = ((self.document or {}).get("error") or {}).get("traceback")
            if traceback:
                with st.expander("Traceback", icon=":material/bug_report:"):
                    downloads.copyable(str(traceback), height=320)
        command = self.fact("reproduce")
        if command:
            st.caption("Measure this again:")
            downloads.copyable(command)


_IDENTITY = (
    *("run_id", "experiment_id", "record_id", "series_id", "suite", "model", "test", "variant", "accelerator"),
    *("accelerator_model", "environment", "machine_id", "host", "dtype", "batch_size", "requested_batch_size"),
    *("optimizer", "loss", "matmul_precision", "workload", "cache", "attempt", "replicas_n", "threads"),
)


def show_identity(view: View, result: ModelResult) -> None:
    """Draw three tables of names and values, then the record."""
    del view
    left, right = st.columns(2)
    with left:
        st.markdown("**Identity**")
        _facts({name: result.row[name] for name in _IDENTITY if name in result.row.index}, "identity")
    document = result.document
    if document is None:
        st.caption("There is no record: the run ended before this experiment was measured.")
        return
    with right:
        st.markdown("**Environment**")
        _facts(_flat(document.get("environment") or {}), "environment")
    with st.expander("Configuration and measurement"):
        _facts(_flat(document.get("experiment") or {}), "experiment")
        measurement = {name: value for name, value in (document.get("measurement") or {}).items() if name != "blocks"}
        _facts(_flat(measurement), "measurement")
    with st.expander("State of the machine meanwhile"):
        _facts(_flat(document.get("machine") or {}), "machine")
    with st.expander("Record (JSON)"):
        st.json(document, expanded=1)


def _facts(facts: dict[str, Any], key: str) -> None:
    if not facts:
        st.caption("The record has none of these facts.")
        return
    rows = pd.DataFrame([(name, _fact_text(value)) for name, value in facts.items()], columns=["Field", "Value"])
    st.dataframe(rows, hide_index=True, key=f"facts-{key}", alt=f"Facts: {key}", height="content")


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": inner_value for inner, inner_value in value.items()}
        else:
            flat[name] = value
    return flat


def _fact_text(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return DASH
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


_NOT_KNOWN = "No definition; this is the value in the record."


def show_metrics(view: View, result: ModelResult) -> None:
    """Draw one table of all numbers, those of the record without a column last."""
    row = result.row
    known = [_metric_row(name, row[name]) for name in METRICS if name in row.index]
    recorded = data.rows(view.snapshot, "model_metrics", view.selection, **result.keys)
    further = [_metric_row(metric.name, metric.value) for metric in each(recorded)]
    rows = pd.DataFrame([*known, *further], columns=["name", "label", "value", "unit", "definition"])
    st.dataframe(
        rows[["label", "value", "unit", "definition", "name"]],
        column_config={
            "label": st.column_config.TextColumn("Metric", pinned=True),
            "value": st.column_config.TextColumn("Value", alignment="right"),
            "unit": st.column_config.TextColumn("Unit"),
            "definition": st.column_config.TextColumn("What it is, or why it is missing", width="large"),
            "name": st.column_config.TextColumn("Column"),
        },
        hide_index=True,
        key="metrics",
        alt="Every metric of the result",
        height=560,
    )
    suite, model, test = (str(row[name]) for name in ("suite", "model", "test"))
    of = replace(view.selection, suite=(suite,), model=(model,), test=(test,))
    behind = {
        "Results of the model": data.statement("sides", of),
        "Numbers that have no column": data.statement("model_metrics", view.selection, **result.keys),
    }
    downloads.below(rows, "metrics", view.file_name("metrics"), behind)


def _metric_row(name: str, value: Any) -> tuple[str, str, str, str, str]:
    metric = METRICS.get(name)
    if metric is None:
        return name, name, _digits(value), "", _NOT_KNOWN
    unit = metric.display_unit or metric.unit
    if missing(value):
        return name, metric.label, DASH, unit, f"{metric.definition} Missing: {metric.failure}."
    return name, metric.label, _digits(metric.shown(float(value))), unit, metric.definition


def _digits(value: Any) -> str:
    if missing(value):
        return DASH
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.5g}"
