"""The label whose runs the boxes of the sidebar offer, and its default: pinned in this browser, else by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import streamlit as st

from dashboard import filters, settings
from dashboard.words import escape, shortened
from runner.errors import UsageError
from runner.home import settings_file

if TYPE_CHECKING:
    from collections.abc import Sequence

ALL = "All labels"
COOKIE = "xlabench_label"
"""Where the browser keeps the label that was pinned in it (`page.js` writes it); empty for all labels."""
_KEY = "labelled"
_PINNED = "_pinned_label"
"""What this session wrote into the cookie: Streamlit knows the cookies of the session's start only."""
_TWO = 2


def box(labels: Sequence[str]) -> str | None:
    """Draw the box of labels where there are several; return the chosen one, None for all."""
    if len(labels) < _TWO:
        return None
    pinned = _pinned(labels)
    if _KEY not in st.session_state:
        _begin(labels, pinned)
    with st.sidebar, st.container(key="labels"):
        chosen = st.selectbox(
            "Runs labelled",
            (ALL, *labels),
            key="labelled",
            bind="query-params",
            persist_state="session",
            help="The newest run is that of the label, and the boxes below offer the label's runs only.",
        )
        _offer_pin(chosen, pinned)
    return None if chosen == ALL else chosen


def _begin(labels: Sequence[str], pinned: str | None) -> None:
    """Choose the label of a session that begins: that of the link, else the pinned one; a link to a run needs none."""
    given = st.query_params.get(_KEY)
    if given is not None and given not in (ALL, *labels):
        del st.query_params[_KEY]
        filters.ignore(_KEY, given)
        given = None
    if given is None and "run" not in st.query_params and pinned:
        st.session_state[_KEY] = pinned


def _pinned(labels: Sequence[str]) -> str | None:
    """Return the label that this browser keeps, else that of `xlabench.toml`; a broken file pins none."""
    cookie: object = st.session_state.get(_PINNED, st.context.cookies.get(COOKIE))
    if isinstance(cookie, str):
        found = unquote(cookie)
    else:
        try:
            found = settings_file.read(settings.home()).dashboard.label or ""
        except UsageError:
            found = ""
    return found if found in labels else None


def _offer_pin(chosen: str, pinned: str | None) -> None:
    """Draw the button that pins the chosen label, or takes the pin off; `page.js` writes the cookie."""
    keep = st.session_state.__setitem__
    if chosen not in (ALL, pinned):
        st.button(
            "Pin this label",
            icon=":material/keep:",
            type="tertiary",
            key="pin-label",
            help="This browser begins with the runs of this label.",
            on_click=keep,
            args=(_PINNED, quote(chosen, safe="")),
        )
    elif pinned is not None:
        st.button(
            f"Unpin {escape(shortened(pinned))}",
            icon=":material/keep_off:",
            type="tertiary",
            key="unpin-label",
            help="This browser begins with the runs of all labels.",
            on_click=keep,
            args=(_PINNED, ""),
        )
