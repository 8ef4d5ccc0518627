"""Ways to other pages that keep the selection: addresses, links in the page, and jumps after a click on a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.selection import Selection
    from dashboard.view import View

_PAGES = "_pages"
_BOUND = "_bound_by_a_jump"


def offer(pages: Mapping[str, Any]) -> None:
    """Make Streamlit's pages known by their URL paths; `app` calls it once a run."""
    st.session_state[_PAGES] = dict(pages)


def parameters(selection: Selection, **params: object) -> dict[str, list[str]]:
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


def link(view: View, page: str, label: str, *, icon: str | None = None, **params: object) -> None:
    """Draw a link that switches the page without a reload; the label is markdown."""
    st.page_link(
        st.session_state[_PAGES][page],
        label=label,
        icon=icon,
        query_params=parameters(view.selection, **params),
    )


def go(view: View, page: str, **params: object) -> NoReturn:
    """Switch to a page, for a selection in a table or chart; not to be called in a callback."""
    wanted = parameters(view.selection, **params)
    st.switch_page(st.session_state[_PAGES][page], query_params=wanted)


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return [str(value)]
