"""Ask for what a page will read, before it does: several at once where the browser waits and a core has nothing to do.

DuckDB takes as long to plan a statement over the views as to answer it, and plans with one core.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.selection import Selection

_NAME = "ahead"
_WORKERS = 2
_REMEMBERED = 400
"""Askings that are not begun again: the kept rows have most of them."""


class _Pool:
    """Threads that ask, and what they were given lately."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_WORKERS, thread_name_prefix=_NAME)
        self._begun: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, shown: str, name: str, selection: Selection, more: Mapping[str, Any]) -> None:
        """Have one query asked, unless it was lately."""
        key = repr((shown, name, selection, sorted(more.items())))
        with self._lock:
            if key in self._begun:
                return
            self._begun[key] = None
            if len(self._begun) > _REMEMBERED:
                self._begun.popitem(last=False)
        self._threads.submit(data.rows, shown, name, selection, **more)


def begin(shown: str, selection: Selection, asked: Mapping[str, Mapping[str, Any]]) -> None:
    """Begin to ask queries of `data.rows`, which then waits for the one it wants; a fault is its to tell.

    Args:
        shown: the snapshot.
        selection: as the page will give it.
        asked: name → further parameters, as the page will give them; what takes longest first.
    """
    for name, more in asked.items():
        _pool().begin(shown, name, selection, more)


@st.cache_resource(show_spinner=False)
def _pool() -> _Pool:
    log = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    log.addFilter(_of_no_thread_of_ours)
    return _Pool()


def _of_no_thread_of_ours(_record: logging.LogRecord) -> bool:
    """Drop Streamlit's warning that a thread shows nothing to anybody: these are not to."""
    return not threading.current_thread().name.startswith(_NAME)
