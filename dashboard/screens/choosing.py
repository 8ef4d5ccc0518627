"""A choice between a few named ways to look, kept in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.words import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_SHOWN = 60


def segments(label: str, options: Sequence[str], key: str) -> str:
    """Draw the choice and return it; the first option is the default.

    Args:
        label: above it.
        options: at least one.
        key: of the widget and of the URL parameter.
    """
    notice_unknown(label, options, key)
    chosen = st.segmented_control(label, options, default=options[0], required=True, key=key, bind="query-params")
    return str(chosen or options[0])


def notice_unknown(label: str, options: Sequence[str], key: str) -> None:
    """Say that a link asks for a choice which there is not; Streamlit drops it from the address."""
    given = st.query_params.get(key)
    if given and given not in options:
        named = f"**{escape(label)}** = “{escape(given[:_LONGEST_SHOWN])}”"
        st.warning(f"Ignored, because there is no such choice: {named}.", icon=":material/link_off:")
