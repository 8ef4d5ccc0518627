"""A choice between a few named ways to look, kept in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.words import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


_LONGEST_SHOWN = 60
_SECTION_PX = 280
_MOST_SHOWN = 3
EVERY = "All, one below the other"


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


def section(label: str, parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Draw the choice of a part of the results where there are several; return it, by default the first.

    Args:
        label: what names a part, as `Test, accelerator and suite`.
        parts: their names, at least one.
    """
    return _sections(label, parts, [])[0]


def charts_of(label: str, parts: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Draw the choice of the part that is charted, or of all; return what is chosen.

    One is charted by default: a chart takes the browser as long as a table, and a window has room for one of them.

    Args:
        label: what names a part.
        parts: their names, at least one.
    """
    return _sections(label, parts, [EVERY])


def _sections(label: str, parts: Sequence[tuple[str, ...]], more: Sequence[str]) -> list[tuple[str, ...]]:
    texts = {" · ".join(each): each for each in parts}
    offered = [*texts, *more]
    notice_unknown("Of", offered, "section")
    if len(texts) == 1:
        return list(parts)
    chosen = str(st.selectbox(label, offered, key="section", bind="query-params", width=_SECTION_PX))
    return list(parts) if chosen in more else [texts.get(chosen, parts[0])]


def requested_name(known: Collection[str], key: str, why_not: str) -> str | None:
    """Return which one of many the address or the box of `one_of` names; None for none, and for one that is unknown.

    Args:
        known: what can be named.
        key: of the box and of the URL parameter.
        why_not: why an unknown name is ignored, up to the name.
    """
    take_value(key)
    value = st.session_state[key] if key in st.session_state else st.query_params.get(key)
    if value and value not in known:
        st.warning(f"Ignored, because {why_not} “{escape(str(value)[:_LONGEST_SHOWN])}”.", icon=":material/link_off:")
        return None
    return value or None


def one_of(label: str, known: Sequence[str], key: str, placeholder: str) -> None:
    """Draw the box that chooses one of many, and the way back to all; `asked` says which one it is.

    Args:
        label: of the box; the button is `All ` and its plural.
        known: what can be chosen.
        key: of the box and of the URL parameter.
        placeholder: what stands there while none is chosen.
    """
    st.selectbox(label, known, index=None, key=key, bind="query-params", placeholder=placeholder, width=420)
    if st.session_state.get(key):
        st.button(
            f"All {label.lower()}s",
            on_click=_none,
            args=(key,),
            icon=":material/arrow_back:",
            key=f"all-{label.lower()}s",
        )


def _none(key: str) -> None:
    st.session_state[key] = None


def notice_unknown(label: str, options: Sequence[str], key: str) -> None:
    """Say that a link asks for a choice which there is not; Streamlit drops it from the address.

    Of a link only: a choice that goes because the reader changed another one needs no word.
    """
    if key in st.session_state:
        return
    unknown = [given for given in st.query_params.get_all(key) if given and given not in options]
    if unknown:
        named = ", ".join(f"“{escape(given[:_LONGEST_SHOWN])}”" for given in unknown[:_MOST_SHOWN])
        text = f"Ignored, because there is no such choice: **{escape(label)}** = {named}."
        st.warning(text, icon=":material/link_off:")


_LEFT = "_picked_for_"


def leave_value(key: str, value: Any) -> None:
    """Leave a value for the widget of a key; to be called from a callback."""
    st.session_state[_LEFT + key] = value


def take_value(key: str) -> None:
    """Give the widget of a key what was left for it, if anything; to be called before it is drawn or read."""
    if _LEFT + key in st.session_state:
        st.session_state[key] = st.session_state.pop(_LEFT + key)
