"""The label whose runs the boxes of the sidebar offer, and its default: pinned in this browser, else by the server."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import streamlit as st

from dashboard import filters, settings
from runner.errors import UsageError
from runner.home import settings_file

if TYPE_CHECKING:
    from collections.abc import Sequence

ALL = "All labels"
COOKIE = "xlabench_label"
"""Where the browser keeps the label that was pinned in it (`page.js` writes it); empty for all labels."""
_KEY = "labelled"
_TWO = 2


def box(labels: Sequence[str]) -> str | None:
    """Draw the box of labels where there are several; return the chosen one, None for all."""
    if len(labels) < _TWO:
        return None
    pinned = _pinned()
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
        if chosen != (pinned if pinned in labels else ALL):
            _offer_pin(chosen)
    return None if chosen == ALL else chosen


def _begin(labels: Sequence[str], pinned: str | None) -> None:
    """Choose the label of a session that begins: that of the link, else the pinned one; a link to a run needs none."""
    given = st.query_params.get(_KEY)
    if given is not None and given not in (ALL, *labels):
        del st.query_params[_KEY]
        filters.ignore(_KEY, given)
        given = None
    if given is None and "run" not in st.query_params and pinned in labels:
        st.session_state[_KEY] = pinned


def _pinned() -> str | None:
    """Return the label that this browser keeps, else that of `xlabench.toml`; a broken file pins none."""
    cookie: object = st.context.cookies.get(COOKIE)
    if isinstance(cookie, str):
        return unquote(cookie) or None
    try:
        return settings_file.read(settings.home()).dashboard.label
    except UsageError:
        return None


def _offer_pin(chosen: str) -> None:
    """Draw the button that pins this label; `page.js` keeps it, the server hears of it with the next session."""
    value = "" if chosen == ALL else quote(chosen, safe="")
    words = "Begin with all labels in this browser" if chosen == ALL else "Pin this label in this browser"
    st.html(f'<button class="xl-pin" type="button" data-label="{escape(value)}">{words}</button>')
