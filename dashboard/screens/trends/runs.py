"""Which runs a trend goes over: those of one label up to the shown run, and what is shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data
from dashboard.screens import choosing
from dashboard.words import escape, missing

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from dashboard.view import View

SAME_LABEL = "Label of the shown run"
EVERY_LABEL = "All labels"
LENGTHS = ("12", "30", "60", "120")
_LABEL_PX = 340


def chosen(view: View, place: DeltaGenerator) -> tuple[str, ...]:
    """Draw the boxes in their place; return the ids of the runs, the oldest first."""
    known = data.runs(view.snapshot)
    labels = [str(label) for label in dict.fromkeys(known["run_label"].dropna())]
    offered = [SAME_LABEL, EVERY_LABEL, *labels]
    choosing.notice_unknown("Runs of", offered, "label")
    choosing.notice_unknown("Newest", LENGTHS, "last")
    with place:
        label = st.selectbox(
            "Runs of",
            offered,
            key="label",
            bind="query-params",
            help="Runs of one label repeat the same plan. None is newer than the shown run.",
            width=_LABEL_PX,
        )
        last = st.segmented_control(
            "Newest", LENGTHS, default="30", required=True, key="last", bind="query-params", help="Number of runs."
        )
    return _ids(view, known, str(label or SAME_LABEL), int(last or "30"))


def _ids(view: View, known: pd.DataFrame, label: str, most: int) -> tuple[str, ...]:
    upto = known[known["run_started"] <= view.run["run_started"]]
    wanted = view.run["run_label"] if label == SAME_LABEL else label
    rows = upto if label == EVERY_LABEL else upto[_labelled(upto["run_label"], wanted)]
    if len(rows) == 1 < len(upto) and label == SAME_LABEL:
        st.caption(f"No earlier run has the label **{escape(wanted or 'unnamed')}**: runs of all labels are shown.")
        rows = upto
    return tuple(reversed(rows["run_id"].head(most).tolist()))


def _labelled(labels: pd.Series, wanted: str | None) -> pd.Series:
    """Say which runs have a label; runs without one have that in common."""
    return labels.isna() if missing(wanted) else labels == wanted
