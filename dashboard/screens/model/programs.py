"""Programs: what the compilers made of the model; they have no noise, so a change here explains a change of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, tables
from dashboard.tables import Column

if TYPE_CHECKING:
    from dashboard.screens.model.result import Result
    from dashboard.view import View

_KINDS = {
    "fx": "captured by dynamo (fx)",
    "hlo": "HLO before XLA's passes",
    "hlo_optimized": "HLO after XLA's passes",
    "inductor": "inductor's code",
}


def show(view: View, result: Result) -> None:
    """Draw one row per program, or say that none is known."""
    programs = data.rows(view.snapshot, "model_graphs", view.selection, **result.keys)
    if programs.empty:
        st.caption("No compiled program is known: the backend compiles none, or the record came without them.")
        return
    listed = programs.assign(kind=[_KINDS.get(kind, kind) for kind in programs["kind"]])
    columns = {
        "kind": Column("Program", pinned=True),
        "position": Column("No.", "number", help="In the order of the record, from 0."),
        "ops": Column("Operations", "number", help="Operations in the program."),
        "fusions": Column("Fusions", "number", help="Groups of operations that became one kernel."),
        "flops": Column("FLOPs", "decimal", help="Of one execution, as far as they are known."),
        "bytes_accessed": Column("Memory traffic, MiB", "MiB", help="Bytes read and written by one execution."),
        "operations": Column("Which operations"),
        "fingerprint": Column("Fingerprint", help="Equal programs have equal fingerprints; names do not count."),
    }
    tables.show(
        listed,
        columns,
        key="programs",
        alt="Compiled programs of the result",
        file_name=view.file_name("programs"),
        sql=data.statement("model_graphs", view.selection, **result.keys),
    )
