"""Which models the means are over, which are in none, and why: a mean over other models moves without any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, tables
from dashboard.rows import each, with_series
from dashboard.tables import Column
from dashboard.words import escape
from store.metrics import metric

if TYPE_CHECKING:
    from dashboard.view import View

WORDS = {
    "paired": "in the mean",
    "not_comparable": "valid on both sides, and a setting differs",
    "only_left": "only here: the baseline never tried them",
    "only_right": "only the baseline has them",
    "failed_left": "failed here",
    "failed_right": "the baseline failed",
}


def show(view: View) -> None:
    """Draw the lists, asked for by a click: they need every pair of the run."""
    with st.expander("Models behind the means", key="pairing", on_change="rerun", icon=":material/join_inner:") as part:
        if part.open:
            _table(view)


def _table(view: View) -> None:
    rows = with_series(data.rows(view.snapshot, "pairing", view.selection))
    st.caption(f"Paired with {escape(view.baseline_text)}. {metric('n').definition}")
    columns = {
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "suite": Column("Suite"),
        "series": Column("Backend", help="Backend plus every setting in which rows differ."),
        "what": Column("What they are"),
        "n": Column("n", "number", help="Models of the list."),
        "models": Column("Models"),
    }
    shown = rows.assign(
        what=[WORDS[row.why] for row in each(rows)], models=[", ".join(names) for names in rows["models"]]
    )
    tables.show(
        shown,
        tables.without_constant(columns, shown, ["accelerator", "suite"]),
        key="pairing-table",
        alt="Models in the geometric means, and those that are not, by reason",
        file_name=view.file_name("pairing"),
        sql=data.statement("pairing", view.selection),
    )
