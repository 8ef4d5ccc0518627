"""Entry of the dashboard: `streamlit run dashboard/app.py`, or `xlabench serve`."""

from __future__ import annotations

from pathlib import Path

import duckdb
import streamlit as st

from dashboard import access, data
from dashboard.access import login
from dashboard.data import snapshot
from dashboard.formatting import error_text
from dashboard.jobs import following
from dashboard.screens import PAGES
from dashboard.ui import empty
from dashboard.ui.frame import PageSpec
from dashboard.view import View, filters, links
from store.errors import StorageError

STATIC = Path(__file__).parent / "ui" / "static"
# A file of ours: browsers fetch icons that Streamlit names from a foreign host. No docstring: the entry's are shown.
ICON = STATIC / "icon.svg"
LOOK = STATIC / "look.css"


def main() -> None:
    """Draw the chosen page; filters are drawn outside of pages, so that a change of the page keeps them."""
    st.set_page_config(page_title="xlabench", page_icon=str(ICON), layout="wide")
    st.html(LOOK)
    if login.required("xlabench"):
        return
    viewing = access.may("view")
    if not viewing.allowed:
        st.error(error_text(viewing.reason), icon=":material/lock:")
        login.draw_sign_out()
        return
    login.recall()
    views: list[View] = []
    refused: list[str] = []
    pages = {spec.url_path: _page(spec, views, refused) for spec in PAGES}
    page = st.navigation(list(pages.values()), position="top")
    links.offer(pages)
    links.arrive(page)
    try:
        snapshot_path = snapshot.shown()
        views += _view(str(snapshot_path)) if snapshot_path else []
    except StorageError as error:
        refused.append(str(error))
    except duckdb.OutOfMemoryException:
        refused.append(empty.too_little_memory())
    following.announce_results()
    following.show()
    if views:
        filters.notice(views[0].selection)
    login.draw_sign_out()
    page.run()


def _page(spec: PageSpec, views: list[View], refused: list[str]) -> st.Page:
    """Return Streamlit's page; it takes its view when it is drawn, after the filters were read."""

    def draw() -> None:
        if views:
            try:
                spec.show(views[0])
            except duckdb.OutOfMemoryException:
                st.warning(error_text(empty.too_little_memory()), icon=":material/memory:")
        elif refused:
            empty.unreadable(spec.title, refused[0])
        elif spec.show_empty:
            spec.show_empty()
        else:
            empty.show_store(spec.title)

    default = not spec.url_path
    return st.Page(draw, title=spec.title, icon=spec.icon, url_path=spec.url_path or "overview", default=default)


def _view(snapshot_path: str) -> list[View]:
    """Return a list with the view; it is empty while the store has no run."""
    runs = data.runs(snapshot_path)
    if runs.empty:
        return []
    choices = data.choices(snapshot_path, filters.label_box(data.labels(snapshot_path)))
    selection = filters.sidebar(choices)
    following.last_ingest(runs)
    return [View.of(snapshot_path, runs, selection, choices)]


main()
