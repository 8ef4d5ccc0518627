"""Parts of a page that are drawn again while it is open, without the rest of the page.

Before Streamlit draws such a part again, it drops what it has not yet sent of it (`ForwardMsgQueue.clear`). A browser
that then gets a block whose place comes after a missing one ends with "Bad delta path index" and a blank page. So a
part has a container of its own, and no other fragment is inside it: neither loses its place with the part.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

import streamlit as st

_inside: ContextVar[bool] = ContextVar("_inside", default=False)


def show(draw: Callable[..., None], every_s: float | None, *args: Any) -> None:
    """Draw a part of a page, and draw it again after each interval; None: once."""

    @wraps(draw)
    def drawn(*args: Any) -> None:
        token = _inside.set(True)
        try:
            draw(*args)
        finally:
            _inside.reset(token)

    with st.container(key=f"updating-{draw.__name__.strip('_')}"):  # `look.css` hides it while it is empty
        st.fragment(drawn, run_every=every_s)(*args)


def fragment(draw: Callable[..., None], *args: Any) -> None:
    """Draw a part that is drawn again when something in it is clicked; inside a part that updates itself, with that."""
    (draw if _inside.get() else st.fragment(draw))(*args)
