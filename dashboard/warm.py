"""What a server does before its first reader comes: import what pages need, and read what every page reads first."""

from __future__ import annotations

import contextlib
import gc
import importlib
import threading

from dashboard import settings
from store import query
from store.errors import XlabenchError

_MODULES = ("dashboard.pages", "dashboard.following", "scipy.special", "scipy.stats")
"""SciPy's parts by name: the statistics import them when they are used, as measuring environments have none."""


def begin() -> None:
    """Do it in a thread of its own: a reader who comes meanwhile does not wait for all of it."""
    threading.Thread(target=_all, name="warm-up", daemon=True).start()


def end() -> None:
    """Give back to the last garbage collection what `_settle` kept out: else DuckDB reports it all as lost."""
    gc.unfreeze()


def _all() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    from dashboard import data  # noqa: PLC0415 - its caches need the server that begins this

    newest = query.current_snapshot(settings.store_dir())
    if newest is not None:
        with contextlib.suppress(XlabenchError):  # each page says it
            data.choices(str(newest))
    _settle()


def _settle() -> None:
    """Keep what is there for good out of later garbage collections.

    Streamlit collects after each run of the script, before the browser hears that it has ended: over all modules that
    took a quarter of the server's time for a changed filter.
    """
    gc.collect()
    gc.freeze()
