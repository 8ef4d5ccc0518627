"""Warm-up of the server before its first reader: import the modules of pages, and read the data of every page."""

from __future__ import annotations

import contextlib
import gc
import importlib
import threading

from dashboard import settings
from store import query
from store.errors import XlabenchError

_MODULES = ("dashboard.pages", "dashboard.following", "scipy.special", "scipy.stats")
"""Modules to import; SciPy's are named because the statistics import them only when they are used."""


def begin() -> None:
    """Start the warm-up in a thread, so that a reader need not wait for all of it."""
    threading.Thread(target=_all, name="warm-up", daemon=True).start()


def end() -> None:
    """Return to the last garbage collection the objects that `_settle` froze; else DuckDB reports them as lost."""
    gc.unfreeze()


def _all() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    from dashboard import data  # noqa: PLC0415 - its caches need the running server

    newest = query.current_snapshot(settings.store_dir())
    if newest is not None:
        with contextlib.suppress(XlabenchError):  # each page reports it
            data.choices(str(newest))
    _settle()


def _settle() -> None:
    """Exclude all present objects from later garbage collections.

    Streamlit collects after each run of the script, before it tells the browser about the end. With all modules, that
    took a quarter of the server's time for a changed filter.
    """
    gc.collect()
    gc.freeze()
