"""The announcement of new results: looked for every few seconds, shown when the reader asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, snapshot
from dashboard.rows import each
from dashboard.settings import WATCH_EVERY_S
from dashboard.words import ago, count, escape, listed, missing, when

if TYPE_CHECKING:
    import pandas as pd


@st.fragment(run_every=WATCH_EVERY_S)
def announce() -> None:
    """Look for a newer snapshot, say what it brings, and offer to show it."""
    newest = snapshot.newer()
    if newest is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="new-results"):
        st.markdown(f":material/fiber_new: {_news(str(newest))}", width="stretch")
        if st.button("Show", type="primary", key="show-new-results"):
            snapshot.advance()
            st.rerun(scope="app")


def last_ingest(runs: pd.DataFrame) -> None:
    """Say under the filters when the store last took results in."""
    moment = runs["ingested_at"].max()
    with st.sidebar:
        st.caption(f"Last ingest {when(moment)} ({ago(moment)})" if not missing(moment) else "Last ingest unknown")


def _news(newest: str) -> str:
    """Name the runs that the newest snapshot has and the shown one has not."""
    held = snapshot.held()
    before = set(data.runs(str(held))["run_id"]) if held else set()
    after = data.runs(newest)
    fresh = [f"**{escape(row.run_label or row.run_id[:8])}**" for row in each(after) if row.run_id not in before]
    if not fresh:
        return "New results in runs that are already listed."
    return f"New results: {count(len(fresh), 'run')} {listed(fresh, 3)}."
