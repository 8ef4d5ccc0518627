"""`/notices.atom`: the feed that the home's worker writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import FileResponse, PlainTextResponse
from starlette.routing import Route

from dashboard import settings
from dashboard.routes.artifact import HEADERS
from dashboard.routes.guard import Guard
from store.state.notices import FEED

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

PATH = f"/{FEED}"


def route(hosts: frozenset[str], base: str = "") -> Route:
    """Return the guarded route."""
    return Route(base + PATH, Guard(_Endpoint(), hosts, HEADERS))


class _Endpoint:
    """The application behind the guard: Starlette takes an object for one, and a function for an endpoint."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = settings.home() / FEED
        if path.is_file():
            await FileResponse(path, media_type="application/atom+xml; charset=utf-8")(scope, receive, send)
            return
        text = "There is no feed yet: the home's worker writes it, or `xlabench notices look`."
        await PlainTextResponse(text, 404)(scope, receive, send)
