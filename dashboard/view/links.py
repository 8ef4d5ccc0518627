"""Links to other pages that keep the selection: addresses, buttons, and jumps after a click on a row."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException

from dashboard.view import FILTER_WORDS, View, ViewSelection
from store.metrics import metric

ANYWHERE: dict[str, None] = dict.fromkeys(FILTER_WORDS)
"""Parameters of a link that clear all filters, because the other page shows something else."""
RENAMED: dict[str, dict[str, str]] = {
    "speedup": {"by": "against_by"},
    "compile-time": {"chart": "compile_chart", "section": "compile_section", "timeline": "blocks_of"},
    "fallback-ops": {"section": "map"},
    "operators": {"chart": "operator_chart", "order": "operator_order", "part": "phase"},
    "trends": {"section": "trend_section"},
    "runs": {"section": "look"},
}
"""URL path of a page → former parameters that several pages shared, and their present names, for old links."""
_FORMER_VALUES: dict[tuple[str, str], str] = {("measure", "Compile, peer"): metric("compile_peer_s").label}
"""Parameter and a former value → its present value."""
CHOICES: tuple[str, ...] = (
    *("chart", "order", "section", "series_a", "series_b", "against_by"),
    *("compile_chart", "measure", "compile_section", "blocks_of"),
    *("op", "ranking", "colour", "map", "operator", "operator_chart", "operator_order", "phase"),
    *("label", "last", "trend_section", "rate", "of_model", "number"),
    *("a", "b", "findings", "by", "open", "review", "finding"),
    *("result", "part", "kind", "file", "find", "timeline", "process"),
    *("show", "look", "with_run", "record", "job"),
)
"""URL parameters of the pages' own choices, page by page."""
_SIDEBAR = (*FILTER_WORDS, "only", "run", "baseline", "baseline_run", "baseline_accelerator")
"""URL parameters of the boxes that every page has."""
_PAGES = "_pages"
_JUMP = "_jump"
_HERE = "_page"


def offer(pages: Mapping[str, Any]) -> None:
    """Store Streamlit's pages by their URL paths; `app` calls this once per run of the script."""
    st.session_state[_PAGES] = dict(pages)


def titles() -> dict[str, str]:
    """Return the title of each page by its URL path."""
    return {path: str(page.title) for path, page in st.session_state[_PAGES].items()}


def current() -> str:
    """Return the URL path of the shown page, as in `titles`."""
    url_path = st.session_state[_HERE]
    return next(str(path) for path, page in st.session_state[_PAGES].items() if page.url_path == url_path)


def arrive(current: Any) -> None:
    """Finish a jump: switch to its page, then set its parameters in URL and widgets, before any widget is drawn.

    Streamlit forbids setting a URL parameter that is bound to a widget, and values of the session's widgets override
    the parameters of a link. So a jump sets the widgets, which write the URL.
    """
    st.session_state[_HERE] = current.url_path
    jump = st.session_state.get(_JUMP)
    if jump is None:
        _rename(current)
        return
    page, params, restart = jump
    target = st.session_state[_PAGES][page]
    if target.url_path == current.url_path and restart:
        # The browser keeps what a widget shows as long as its page does, so the way leads over another page.
        st.session_state[_JUMP] = (page, params, False)
        target = next(other for other in st.session_state[_PAGES].values() if other.url_path != current.url_path)
    if target.url_path != current.url_path:
        st.switch_page(target, query_params={})
    del st.session_state[_JUMP]
    _resend_sidebar(params)
    for name, value in params.items():
        several = name in (*FILTER_WORDS, "only")
        if value is None and not several:
            st.session_state.pop(name, None)
            continue
        texts = _texts(value)
        st.session_state[name] = texts if several or len(texts) != 1 else texts[0]
        with contextlib.suppress(StreamlitAPIException):
            st.query_params[name] = texts


def _resend_sidebar(others: Mapping[str, object]) -> None:
    """Tell the browser of the boxes that keep their values on the new page.

    It clears the address when the page changes, and did not write the values of these boxes again where it was slow.
    """
    for name in _SIDEBAR:
        if name not in others and name in st.session_state:
            st.session_state[name] = st.session_state[name]


def _rename(page: Any) -> None:
    """Give the parameters of an old link their present names and values."""
    former = current_parameters()
    present = dict(renamed(page.url_path, name, values) for name, values in former.items())
    if present != former:
        st.switch_page(page, query_params=present)


def renamed(page: str, name: str, values: Sequence[str]) -> tuple[str, list[str]]:
    """Return the present name and values of a parameter of an old link."""
    name = RENAMED.get(page, {}).get(name, name)
    return name, [_FORMER_VALUES.get((name, value), value) for value in values]


def parameters(selection: ViewSelection, **params: object) -> dict[str, list[str]]:
    """Return the URL parameters of a selection with further or replaced ones: a text or several; None removes one."""
    selected: dict[str, object] = {
        "run": selection.run_id,
        "baseline": selection.baseline,
        "baseline_run": None if selection.baseline_point == "same" else selection.baseline_run,
        "baseline_accelerator": selection.baseline_accelerator,
        "only": selection.only,
        **selection.chosen(),
    }
    texts = {name: _texts(value) for name, value in (selected | params).items()}
    return {name: values for name, values in texts.items() if values}


def href(view: View, page: str, **params: object) -> str:
    """Return the address of a page relative to any other one, as `speedup?run=…`; `params` add to the selection."""
    return f"{page or './'}?{urlencode(parameters(view.selection, **params), doseq=True)}"


def current_parameters() -> dict[str, list[str]]:
    """Return the parameters of the present address."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def share_url(view: View) -> str:
    """Return the address of the shown page for other readers; it names the run, also if that is the newest."""
    params = current_parameters() | parameters(view.selection)
    page = str(st.context.url or "").partition("?")[0]
    return f"{page}?{urlencode(params, doseq=True)}"


def link(view: View, page: str, label: str, *, key: str, icon: str | None = None, **params: object) -> None:
    """Draw a button that looks like a link and opens a page; the selection stays, except for `params`.

    Each of these is a text or several; None sets a box back to its default.
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
    """Open a page at the next run of the script, without the selection; parameters as for `link`."""
    st.session_state[_JUMP] = (page, params, False)


def restore(page: str, params: Mapping[str, object]) -> None:
    """Open a saved address at the next run of the script; of the present address nothing stays.

    `params` are all that an address may have; None are those that the saved address lacks.
    """
    st.session_state[_JUMP] = (page, params, True)


def go(view: View, page: str, **params: object) -> None:
    """Open a page after a selection in a table or chart; parameters as for `link`. Not for callbacks.

    A row stays selected when its page is drawn again; if its page is already shown, nothing happens.
    """
    target = st.session_state[_PAGES][page]
    if _remember(view.selection, page, params) or target.url_path != st.session_state[_HERE]:
        st.switch_page(target, query_params={})
    del st.session_state[_JUMP]


def _follow(selection: ViewSelection, page: str, params: Mapping[str, object]) -> None:
    _remember(selection, page, params)


def _remember(selection: ViewSelection, page: str, params: Mapping[str, object]) -> bool:
    """Store a jump for the next run of the script; parameters that are equal to the selection's are left out.

    Returns whether the jump changes anything but the page.
    """
    selected = parameters(selection)
    address = {name: st.query_params.get_all(name) for name in params if name not in selected}
    fresh = {name: value for name, value in params.items() if (address | selected).get(name, []) != _texts(value)}
    st.session_state[_JUMP] = (page, fresh, False)
    return bool(fresh)


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return [str(value)]
