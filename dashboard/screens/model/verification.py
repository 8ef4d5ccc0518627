"""Verification: what the code means, what was compared, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import meanings
from dashboard.words import DASH, escape

if TYPE_CHECKING:
    from dashboard.screens.model.result import Result
    from dashboard.view import View

_WORDS = {
    "decided_by": ("Decided by", "The check that gave the verdict."),
    "tolerance": ("Tolerance", "Largest difference that passes."),
    "reference": ("Reference", "float64, or eager where float64 could not run: a weaker check."),
    "tensors": ("Tensors compared", "Outputs in eval; loss, gradients and buffers in train."),
    "judged": ("Tensors judged", "Tensors that decide the verdict: the check would notice a wrong one."),
    "first_failed": ("First that failed", "Name of the first tensor outside the tolerance."),
    "failed_iteration": ("Failed in iteration", "The first iteration in which that tensor failed."),
    "max_abs_error": ("Largest absolute error", "Against the reference."),
    "max_rel_error": ("Largest relative error", "Against the reference."),
    "rmse": ("RMSE of the backend", "Root of the mean square error against the reference."),
    "rmse_eager": ("RMSE of eager", "The same for eager, whose error is rounding alone."),
    "cosine": ("Cosine similarity", "1 is the same direction."),
    "control": ("Control", "`noticed`: zeros, rotated rows, another sign or 5 % more would have failed."),
    "batch_size": ("Batch size", "Samples that were compared; fewer than the timed batch are no PASS."),
    "timed_batch_size": ("Timed batch size", "Samples of a timed iteration."),
    "iterations": ("Iterations", "Each was compared."),
    "timed_results": ("Timed process", "Whether the results of the timed process itself agree, too."),
    "seconds": ("Took, s", "Time of the verification process."),
}
"""Field of the record's verification → its label and what it is."""


def show(view: View, result: Result) -> None:
    """Draw the code with its meaning, then the figures of the check."""
    del view
    code = result.fact("verification_code")
    if code is None:
        st.info("The record says nothing about verification.", icon=":material/info:")
        return
    meaning = meanings.verification(code)
    st.markdown(f"**{escape(code)}** · {meaning.says}")
    st.markdown(f":material/arrow_forward: {meaning.to_do}")
    document = result.document or {}
    if document.get("verification_code", code) != code and result.fact("record_id") == result.fact("detail_record_id"):
        st.caption(
            "A later run compared these results without timing them, and found this; its record has the figures."
        )
    found: dict[str, Any] = document.get("verification") or {}
    for note in found.get("notes") or []:
        st.markdown(f"- {escape(note)}")
    _error(found.get("error"))
    if found:
        rows = [(label, _text(found.get(name)), what) for name, (label, what) in _WORDS.items()]
        table = pd.DataFrame(rows, columns=["Check", "Value", "What it is"])
        st.dataframe(table, hide_index=True, key="verification", alt="Figures of the verification", height="content")
    with st.expander("What the other codes say"):
        rows = [(name, each.says, each.to_do) for name, each in meanings.VERIFICATION.items() if name != code]
        st.dataframe(
            pd.DataFrame(rows, columns=["Code", "It says", "What to do"]),
            hide_index=True,
            key="codes",
            alt="Verification codes",
            row_height=70,
        )


def _error(error: dict[str, Any] | None) -> None:
    if error:
        st.markdown(f"**{escape(error.get('type', 'error'))}** in phase {escape(error.get('phase', 'unknown'))}")
        st.code(str(error.get("traceback") or error.get("message") or ""), language=None, height=240)


def _text(value: Any) -> str:
    if value is None:
        return DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)
