"""Ways to what has a name: a box that finds pages, saved views, models, ops and runs; and how a view gets its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlencode

import streamlit as st

from dashboard import access, data, links, login, settings
from dashboard.rows import each
from dashboard.selection import FILTER_WORDS
from dashboard.words import error_text, escape
from store.errors import StateError, UsageError
from store.state import marks, views
from store.state.views import SavedView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboard.view import View

_CHOSEN = "find-what"
_OTHERS = ("run", "baseline", "baseline_run", "baseline_accelerator", "rule")


class _Place(NamedTuple):
    """What can be found: its words, and the page and parameters that show it."""

    words: str
    page: str
    params: dict[str, Any]


def button(view: View) -> None:
    """Draw the button that opens the box; its key is Ctrl+K."""
    if st.button("Find", icon=":material/search:", type="tertiary", key="find-open", shortcut="Ctrl+K"):
        _find(view)


@st.dialog("Go to")
def _find(view: View) -> None:
    places = {place.words: place for place in _places(view)}
    chosen = st.selectbox(
        "A page, saved view, model, op or run",
        list(places),
        index=None,
        key=_CHOSEN,
        placeholder="type a part of its name",
        filter_mode="contains",
        label_visibility="collapsed",
    )
    if chosen:
        place = places[chosen]
        links.jump(place.page, **place.params)
        st.rerun()


def _places(view: View) -> Iterator[_Place]:
    """Yield what there is to find: pages, saved views, models of the shown run, ops and runs."""
    for path, title in links.titles().items():
        yield _Place(f"Page · {title}", path, {})
    for saved in _saved():
        yield _Place(f"View · {saved.name}", saved.page, restored(saved.query))
    for row in each(data.rows(view.snapshot, "model_list", view.selection.unfiltered())):
        one = {"suite": row.suite, "model": row.model, "test": row.test}
        yield _Place(f"Model · {row.model} · {row.test} · {row.suite}", "model", one)
    for row in each(data.rows(view.snapshot, "known_ops", view.selection)):
        yield _Place(f"Op · {row.op}", "fallback-ops", {"op": row.op})
    for _, text in data.choices(view.snapshot).runs:
        yield _Place(f"Run · {text}", "runs", {"run": text})


def restored(query: str) -> dict[str, Any]:
    """Return what a jump sets for a saved address: its parameters, and all others of a view off."""
    return dict.fromkeys((*FILTER_WORDS, "only", *_OTHERS)) | parse_qs(query)


def naming() -> None:
    """Draw the box that saves the view under a name, and those that were saved."""
    with st.form("save-view", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Save this view as", max_chars=views.LONGEST_NAME, key="view-name")
        if st.form_submit_button("Save"):
            _act(lambda: views.save(settings.state_path(), _named(name)), f"Saved as {name.strip()}.")
    for number, saved in enumerate(_saved()):
        with st.container(horizontal=True, vertical_alignment="center"):
            said = escape(f"{saved.name} ({saved.page or 'overview'}, {saved.who or 'somebody'})")
            st.markdown(said, width="stretch")
            if st.button("Remove", key=f"view-remove-{number}", type="tertiary"):
                _act(lambda name=saved.name: views.remove(settings.state_path(), name), f"Removed {saved.name}.")
                st.rerun(scope="fragment")


def _named(name: str) -> SavedView:
    query = urlencode(links.own(), doseq=True)
    who, _ = login.known()
    return SavedView(name=name.strip(), page=links.current(), query=query, who=who, created_at=str(marks.now()))


def _act(act: Any, done: str) -> None:
    """Write what people typed, where they may; say what came of it."""
    decision = access.may("note")
    if not decision.allowed:
        st.error(error_text(decision.reason), icon=":material/lock:")
        return
    try:
        act()
    except (StateError, UsageError) as error:
        st.error(error_text(error), icon=":material/block:")
    else:
        st.toast(escape(done), icon=":material/check:")


def _saved() -> list[SavedView]:
    try:
        return views.listed(settings.state_path())
    except StateError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []
