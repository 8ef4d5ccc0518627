"""Status by model and backend: models down, backends across."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, tables
from dashboard.tables import Column
from dashboard.words import STATUS_WORDS, count

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

MOST_CELLS = 12_000
_KEYS = ("suite", "model", "test", "accelerator")


def show(view: View, rows: pd.DataFrame) -> None:
    """Draw the matrix; each cell is a status."""
    st.markdown("**Status by model and backend**")
    if len(rows) > MOST_CELLS:
        st.caption(
            f"{count(len(rows), 'result')} are too many for a matrix; filter by suite or model, or use the table below."
        )
        return
    cells = rows.assign(text=[STATUS_WORDS.get(status, status) for status in rows["status"]])
    wide = cells.pivot_table(
        index=list(_KEYS), columns="series", values="text", aggfunc=lambda found: " / ".join(sorted(set(found)))
    )
    wide = wide.reset_index()
    wide.columns = [str(name) for name in wide.columns]
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
    }
    columns = tables.without_constant(columns, wide, ["suite", "accelerator"])
    columns |= {name: Column(name) for name in wide.columns if name not in _KEYS}
    tables.show_statuses(
        wide,
        columns,
        key="matrix",
        alt="Status by model and backend",
        file_name=view.file_name("statuses"),
        sql=data.statement("experiments", view.selection),
    )
