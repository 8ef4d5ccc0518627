"""Routes of the server besides Streamlit's: the frame of pages, artifacts, the timeline of traces, notices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse
from starlette.routing import Route
from streamlit import file_util

from dashboard import settings
from dashboard.routes import artifact, perfetto
from dashboard.routes.artifact import HEADERS
from dashboard.routes.guard import Guard
from store.state.notices import FEED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send


def routes(hosts: Iterable[str], base: str = "") -> list[BaseRoute]:
    """Return every route; each answers only requests for these host names, from pages of this server.

    Args:
        hosts: host names of this server.
        base: prefix of each path.
    """
    names = frozenset(host.lower() for host in hosts)
    own_routes = [artifact.route(names, base), notices_route(names, base), *perfetto.routes(names, base)]
    return [*own_routes, *_page_routes(base)]


PATH = f"/{FEED}"


def notices_route(hosts: frozenset[str], base: str = "") -> Route:
    """Return the guarded route."""
    return Route(base + PATH, Guard(_NoticesEndpoint(), hosts, HEADERS))


class _NoticesEndpoint:
    """The application behind the guard: Starlette treats an object as an application, a function as an endpoint."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = settings.home() / FEED
        if path.is_file():
            await FileResponse(path, media_type="application/atom+xml; charset=utf-8")(scope, receive, send)
            return
        text = "There is no feed yet: the home's worker writes it, or `xlabench notices look`."
        await PlainTextResponse(text, 404)(scope, receive, send)


SCRIPTS = [Path(__file__).parents[1] / name for name in ("page.js", "slides.js")]


class _Word(Convertor[str]):
    """The path of a page; files have a dot in their path, and Streamlit's own addresses begin with an underscore."""

    regex = "[a-z-]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def _page_routes(base: str = "") -> list[BaseRoute]:
    """Return the routes of all pages, which must come after the other routes.

    Args:
        base: prefix of each path.
    """
    page = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
    scripts = "".join(f"<script>{path.read_text(encoding='utf-8')}</script>" for path in SCRIPTS)
    html = page.replace("</head>", f"{scripts}</head>", 1)

    def answer(request: Request) -> HTMLResponse:
        del request
        return HTMLResponse(html, headers={"Cache-Control": "no-cache"})

    register_url_convertor("word", _Word())
    return [Route(f"{base}/{{page:word}}", answer), *([Route(base, answer)] if base else [])]
