"""`/artifact?record=ID&path=FILE`: a file beside a record, as text or as a download, never as a page of our origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from dashboard import artifacts, settings
from dashboard.routes.guard import Guard
from store import query
from store.errors import XlabenchError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

PATH = "/artifact"
HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'self'",
    "Cache-Control": "private, no-cache",
}
"""Headers with which a browser runs no script of such a file, and gives it no origin."""

_TEXT = "text/plain; charset=utf-8"
_BYTES = "application/octet-stream"
_TEXT_SUFFIXES = frozenset({".txt", ".log", ".json", ".py", ".csv", ".hlo", ".mlir", ".md", ".cpp", ".html"})
_TEXT_BEGINNINGS = ("ir.",)
"""Beginnings of names of text files to which PyTorch/XLA appends the number of the device, as `ir.text.0`."""


def route(hosts: frozenset[str], base: str = "") -> Route:
    """Return the guarded route."""
    return Route(base + PATH, Guard(_Endpoint(), hosts, HEADERS))


class _Endpoint:
    """The application behind the guard: Starlette treats an object as an application, a function as an endpoint."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await _answer(Request(scope)))(scope, receive, send)


async def _answer(request: Request) -> Response:
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
