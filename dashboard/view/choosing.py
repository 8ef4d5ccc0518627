"""Boxes and buttons that choose among named options and are stored in the address."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

import streamlit as st

from dashboard.formatting import escape

_LONGEST_SHOWN = 60
_SECTION_PX = 280
_MOST_SHOWN = 3
EVERY = "All, one below the other"


def choices_of(part: str, *, drawn: bool) -> AbstractContextManager[object]:
    """Return the place of the choices of a part of the page: here, or out of sight if the part is not drawn.

    Streamlit drops a choice that is not drawn from the address, so a reload and a copied link would lose it.
    """
    return contextlib.nullcontext() if drawn else st.container(key=f"out-of-sight-{part}")


def segments(label: str, options: Sequence[str], key: str, *, labelled: bool = True) -> str:
    """Draw the choice and return it; the first option is the default.

    Args:
        label: label of the choice.
        options: the options, at least one.
        key: key of the widget and of the URL parameter; of this page only: Streamlit drops a parameter that another
            page bound, also from the address to which the reader goes back.
        labelled: whether readers see the label above the choice.
    """
    notice_unknown(label, options, key)
    choice = st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        key=key,
        bind="query-params",
        label_visibility="visible" if labelled else "collapsed",
    )
    return str(choice or options[0])


def section(label: str, parts: Sequence[tuple[str, ...]], key: str) -> tuple[str, ...]:
    """Draw the choice of a part of the results if there are several; return it, by default the first."""
    return _sections(label, parts, [], key)[0]


def charts_of(label: str, parts: Sequence[tuple[str, ...]], key: str) -> list[tuple[str, ...]]:
    """Draw the choice of the part that is charted, or of all parts; return the chosen ones.

    By default one part is charted, because a chart costs the browser as much time as a table and fills a window.
    """
    return _sections(label, parts, [EVERY], key)


_ELSEWHERE = "_section_chosen"
"""Key of the session's state: the part that the reader chose last, on any page."""


def _sections(label: str, parts: Sequence[tuple[str, ...]], extra: Sequence[str], key: str) -> list[tuple[str, ...]]:
    texts = {" · ".join(part): part for part in parts}
    offered = [*texts, *extra]
    notice_unknown("Of", offered, key)
    if len(texts) == 1:
        return list(parts)
    elsewhere = st.session_state.get(_ELSEWHERE)
    if elsewhere in offered and key not in st.session_state and key not in st.query_params:
        st.session_state[key] = st.query_params[key] = elsewhere
    choice = str(st.selectbox(label, offered, key=key, bind="query-params", width=_SECTION_PX))
    st.session_state[_ELSEWHERE] = None if choice == offered[0] else choice
    return list(parts) if choice in extra else [texts.get(choice, parts[0])]


def requested_name(known: Collection[str], key: str, why_not: str) -> str | None:
    """Return the name in the address or in the box of `one_of`; None without a name, and for an unknown one.

    `why_not` begins a sentence that goes on with the unknown name, and says why it is ignored.
    """
    take_value(key)
    value = st.session_state[key] if key in st.session_state else st.query_params.get(key)
    if value and value not in known:
        shown = f"“{escape(str(value)[:_LONGEST_SHOWN])}”"
        st.warning(f"{why_not} {shown}, so this part of the link is ignored.", icon=":material/link_off:")
        return None
    return value or None


def one_of(label: str, known: Sequence[str], key: str, placeholder: str) -> None:
    """Draw the box that chooses one of many names, and the button back to all; `requested_name` returns the choice."""
    st.selectbox(label, known, index=None, key=key, bind="query-params", placeholder=placeholder, width=420)
    if st.session_state.get(key):
        st.button(
            f"All {label.lower()}s",
            on_click=_clear,
            args=(key,),
            icon=":material/arrow_back:",
            key=f"all-{label.lower()}s",
        )


def _clear(key: str) -> None:
    st.session_state[key] = None


def notice_unknown(label: str, options: Sequence[str], key: str) -> None:
    """Warn that a link names an unknown choice, which Streamlit drops from the address.

    Only links are checked: a choice that vanishes because the reader changed another one needs no warning.
    """
    if key in st.session_state:
        return
    unknown = [value for value in st.query_params.get_all(key) if value and value not in options]
    if unknown:
        values = ", ".join(f"“{escape(value[:_LONGEST_SHOWN])}”" for value in unknown[:_MOST_SHOWN])
        text = f"There is no such choice, so this part of the link is ignored: **{escape(label)}** = {values}."
        st.warning(text, icon=":material/link_off:")


_LEFT = "_picked_for_"


def leave_value(key: str, value: Any) -> None:
    """Store a value for the widget of a key; to be called from a callback."""
    st.session_state[_LEFT + key] = value


def take_value(key: str) -> None:
    """Set the widget of a key to its stored value, if there is one; to be called before it is drawn or read."""
    if _LEFT + key in st.session_state:
        st.session_state[key] = st.session_state.pop(_LEFT + key)
