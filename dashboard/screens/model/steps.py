"""What to look at next: commands that look closer at the fallbacks, graph breaks and slow programs of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data
from dashboard.words import escape
from store.paired.next_steps import steps
from store.paired.sources import changed

if TYPE_CHECKING:
    from dashboard.view import View


def show(view: View, suite: str, model: str, test: str) -> None:
    """Draw a sentence and a command for each thing to look at; first, whether the source of the model has changed."""
    earlier = data.rows(view.snapshot, "earlier_sources", view.selection, runs=[view.selection.run_id])
    for sentence in changed(earlier[earlier["model"] == model].to_dict("records")):
        st.caption(escape(sentence))
    rows = data.rows(view.snapshot, "next_steps", view.selection, run=view.selection.run_id)
    mine = rows[(rows["suite"] == suite) & (rows["model"] == model) & (rows["test"] == test)]
    found = steps(mine.to_dict("records"))
    if not found:
        return
    st.subheader("What to look at next", anchor=False)
    for step in found:
        st.markdown(f"{escape(step.why)}:")
        st.code(step.command, language="bash", wrap_lines=True)
