"""Ways to other pages that keep the selection: addresses, links in the page, and jumps after a click on a row."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException

from dashboard.selection import FILTER_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.selection import ViewSelection
    from dashboard.view import View

_PAGES = "_pages"
_JUMP = "_jump"
_HERE = "_page"


def offer(pages: Mapping[str, Any]) -> None:
    """Make Streamlit's pages known by their URL paths; `app` calls it once a run."""
    st.session_state[_PAGES] = dict(pages)


def titles() -> dict[str, str]:
    """Return the title of each page by its URL path."""
    return {path: str(page.title) for path, page in st.session_state[_PAGES].items()}


def current() -> str:
    """Return the URL path of the page that is shown, as `titles` has it."""
    here = st.session_state[_HERE]
    return next(str(path) for path, page in st.session_state[_PAGES].items() if page.url_path == here)


def arrive(current: Any) -> None:
    """Finish a jump: switch to its page, then put its parameters into URL and widgets, before any widget is drawn.

    Streamlit lets nobody set a URL parameter that a widget is bound to, and a link's parameters lose against what the
    widgets of the session hold; so a jump sets the widgets, which write the URL.
    """
    st.session_state[_HERE] = current.url_path
    jump = st.session_state.get(_JUMP)
    if jump is None:
        return
    page, params = jump
    target = st.session_state[_PAGES][page]
    if target.url_path != current.url_path:
        st.switch_page(target, query_params={})
    del st.session_state[_JUMP]
    for name, value in params.items():
        several = name in (*FILTER_WORDS, "only")
        if value is None and not several:
            st.session_state.pop(name, None)
            continue
        texts = _texts(value)
        st.session_state[name] = texts if several or len(texts) != 1 else texts[0]
        with contextlib.suppress(StreamlitAPIException):
            st.query_params[name] = texts


def parameters(selection: ViewSelection, **params: object) -> dict[str, list[str]]:
    """Return the URL parameters of a selection, with others added or put in place of its own.

    Args:
        selection: what the link keeps.
        params: a text, or several; None takes the parameter away.
    """
    kept: dict[str, object] = {
        "run": selection.run_id,
        "baseline": selection.baseline,
        "baseline_run": None if selection.baseline_point == "same" else selection.baseline_run,
        "baseline_accelerator": selection.baseline_accelerator,
        "only": selection.only,
        **selection.chosen(),
    }
    found = {name: _texts(value) for name, value in (kept | params).items()}
    return {name: values for name, values in found.items() if values}


def href(view: View, page: str, **params: object) -> str:
    """Return the address of a page relative to any other one, as `speedup?run=…`.

    Args:
        view: its selection is kept.
        page: URL path of `pages.PAGES`; empty for Overview.
        params: added to the selection's, or in place of them.
    """
    return f"{page or './'}?{urlencode(parameters(view.selection, **params), doseq=True)}"


def own() -> dict[str, list[str]]:
    """Return the parameters of the address as it stands."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def here(view: View) -> str:
    """Return the address of the page as it is shown, to be sent to others; it names the run, newest or not."""
    kept = own() | parameters(view.selection)
    page = str(st.context.url or "").partition("?")[0]
    return f"{page}?{urlencode(kept, doseq=True)}"


def link(view: View, page: str, label: str, *, key: str, icon: str | None = None, **params: object) -> None:
    """Draw a button that looks like a link and opens a page; the selection stays, but for the parameters given.

    Args:
        view: what is shown.
        page: URL path of `pages.PAGES`.
        label: markdown.
        key: of the button, unique on the page.
        icon: Streamlit's name of one.
        params: a text, or several; None sets a box back to its default.
    """
    st.button(
        label,
        key=key,
        icon=icon,
        type="tertiary",
        on_click=_follow,
        args=(view.selection, page, params),
    )


def jump(page: str, **params: object) -> None:
    """Open a page at the next run of the script, whatever the selection; parameters as of `link`."""
    st.session_state[_JUMP] = (page, params)


def go(view: View, page: str, **params: object) -> None:
    """Open a page, for a selection in a table or chart: parameters as of `link`; not to be called in a callback.

    A row stays selected when its page is drawn again: once what it asks for is shown, nothing happens.
    """
    target = st.session_state[_PAGES][page]
    if _remember(view.selection, page, params) or target.url_path != st.session_state[_HERE]:
        st.switch_page(target, query_params={})
    del st.session_state[_JUMP]


def _follow(selection: ViewSelection, page: str, params: Mapping[str, object]) -> None:
    _remember(selection, page, params)


def _remember(selection: ViewSelection, page: str, params: Mapping[str, object]) -> bool:
    """Keep a jump for the next run; what the selection says already stays as its box words it.

    Returns whether the jump changes anything but the page.
    """
    known = parameters(selection)
    own = {name: st.query_params.get_all(name) for name in params if name not in known}
    fresh = {name: value for name, value in params.items() if (own | known).get(name, []) != _texts(value)}
    st.session_state[_JUMP] = (page, fresh)
    return bool(fresh)


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return [str(value)]
