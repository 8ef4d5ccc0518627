"""Who may read from a route of ours: Streamlit checks host, origin and login for its own traffic only."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse

from dashboard import access, login

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COMMON = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
"""Headers of every answer."""

_READING = ("GET", "HEAD")


class Guard:
    """Answers reading requests that name one of our hosts and come from a page of ours; all else is refused.

    A foreign page cannot read an answer of ours, but a name that it makes point here (DNS rebinding) would be its own
    origin: therefore the host is checked, too.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], headers: Mapping[str, str]) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = COMMON | dict(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        if scope["type"] != "http":
            return
        refused = refusal(str(scope["method"]), Headers(scope=scope), self._hosts) or _signed_out(scope)
        # The server ends while a reader still takes the file: no error of anyone.
        with contextlib.suppress(asyncio.CancelledError):
            await (refused or self._app)(scope, receive, with_headers)


def refusal(method: str, headers: Headers, hosts: frozenset[str]) -> PlainTextResponse | None:
    """Return the answer to a request that may not read here, None for one that may."""
    if method not in _READING:
        return PlainTextResponse("This address is for reading only.", 405, {"Allow": ", ".join(_READING)})
    host = headers.get("host", "")
    if not _is_known(_name(host), hosts):
        return PlainTextResponse("This server is not known under that host name; see --allowed-host.", 403)
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return PlainTextResponse("Only pages of this server may ask for this.", 403)
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(headers):
        return PlainTextResponse("Only pages of this server may ask for this.", 403)
    return None


def _signed_out(scope: Scope) -> PlainTextResponse | None:
    """Return the answer to a request of nobody who signed in and may view, where a login is configured."""
    if not login.configured():
        return None
    name = login.reader(HTTPConnection(scope).cookies)
    if name is None:
        return PlainTextResponse("Sign in first: open a page of this server.", 401)
    decision = access.may_read(name)
    return None if decision.allowed else PlainTextResponse(decision.reason, 403)


def _is_known(name: str | None, hosts: frozenset[str]) -> bool:
    """Say whether a host name is one of ours, by the patterns that Streamlit's own check knows: `*.example`, `*`."""
    if name is None:
        return False
    patterns = (host for host in hosts if host.startswith("*."))
    return "*" in hosts or name in hosts or any(name.endswith(pattern[1:]) for pattern in patterns)


def _is_visit(headers: Headers) -> bool:
    """Say whether a person follows a link, rather than a page loading something into itself."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _name(host: str) -> str | None:
    """Return the host name of a Host header without its port, None for one that is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        malformed = parts.username is not None or parts.path or parts.port == 0
    except ValueError:
        return None
    return None if malformed else parts.hostname
