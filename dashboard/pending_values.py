"""What a picked row, cell or point sets in another widget, in a way that no other message of the browser undoes.

A selection reaches the server with whatever the browser sends next. That may be the look of a fragment for news, before
the page is asked for: the callback then runs in the fragment, and the page's own message still carries the old value of
the other widget, which would win. So the callback leaves the value, and the page takes it before it draws that widget.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

_LEFT = "_picked_for_"


def leave(key: str, value: Any) -> None:
    """Leave a value for the widget of a key; to be called from a callback."""
    st.session_state[_LEFT + key] = value


def take(key: str) -> None:
    """Give the widget of a key what was left for it, if anything; to be called before it is drawn or read."""
    if _LEFT + key in st.session_state:
        st.session_state[key] = st.session_state.pop(_LEFT + key)
