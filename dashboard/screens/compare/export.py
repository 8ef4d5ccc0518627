"""The report to take along: as `xlabench report weekly` writes it, with what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import settings, snapshot
from store.compare import comparison_report
from store.report import render
from store.state import reviews
from store.weekly import weekly_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dashboard.view import View
    from store.query import Connection
    from store.review import Review

_FORMS = {"Markdown": ("markdown", "md", "text/markdown"), "HTML": ("html", "html", "text/html")}


def show(view: View, found: Review) -> None:
    """Draw the buttons; a report is made when it is asked for."""
    st.subheader("Report", anchor=False)
    command = f"xlabench report weekly --run {found.new.run_id} --since {found.old.run_id}"
    if view.selection.baseline != "inductor":
        command += f" --backends '{view.selection.baseline}'"
    if not found.across_runs:
        command = f"xlabench compare '{found.old.text}' '{found.new.text}' --run {found.new.run_id}"
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, (form, suffix, kind) in _FORMS.items():
            if not found.across_runs and form == "html":
                continue
            st.download_button(
                label,
                data=_maker(view, found, form),
                file_name=f"{view.file_name('review')}.{suffix}",
                mime=kind,
                key=f"report-{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )
        st.caption("The same on a terminal:", width="content")
        st.code(command, language="bash", width="content")


def made(con: Connection, state: Path, runs: tuple[str, str], baseline: str, form: str) -> bytes:
    """Return the weekly report of two runs (new, old) with what was said, as `xlabench report weekly` prints it."""
    new, old = runs
    return weekly_report(con, [new], old, baseline, None, reviews.listed(state)).render(form).encode()


def _maker(view: View, found: Review, form: str) -> Callable[[], bytes]:
    con, state = snapshot.connection(view.snapshot), settings.state_path()
    if not found.across_runs:
        return lambda: render(comparison_report(found.comparison), form).encode()
    return lambda: made(con, state, (found.new.run_id, found.old.run_id), view.selection.baseline, form)
