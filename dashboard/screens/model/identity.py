"""Identity and record: what was asked for, where it ran, and the record as its line was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard.words import DASH

if TYPE_CHECKING:
    from dashboard.screens.model.result import Result
    from dashboard.view import View

_IDENTITY = (
    *("run_id", "experiment_id", "record_id", "series_id", "suite", "model", "test", "variant", "accelerator"),
    *("accelerator_model", "environment", "machine_id", "host", "dtype", "batch_size", "requested_batch_size"),
    *("optimizer", "loss", "matmul_precision", "workload", "cache", "attempt", "replicas_n", "threads"),
)


def show(view: View, result: Result) -> None:
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
        st.caption("The record does not say.")
        return
    rows = pd.DataFrame([(name, _text(value)) for name, value in facts.items()], columns=["Field", "Value"])
    st.dataframe(rows, hide_index=True, key=f"facts-{key}", alt=f"Facts: {key}", height="content")


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": held for inner, held in value.items()}
        else:
            flat[name] = value
    return flat


def _text(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return DASH
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
