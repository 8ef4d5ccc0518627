"""Access to routes, refusals and their log, and forged clicks on disabled buttons."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard import access
from dashboard.access import login
from runner.jobs.check import plain
from store.errors import XlabenchError

COMMON = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
"""Headers of every answer."""

_READING = ("GET", "HEAD")


class Guard:
    """Answers reading requests that name one of our hosts and come from our pages; it refuses all others.

    A foreign page cannot read our answers, but a host name of its own that points here (DNS rebinding) would be its
    origin; therefore the host is checked, too.
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
        # It is no error if the server ends during a download.
        with contextlib.suppress(asyncio.CancelledError):
            await (refused or self._app)(scope, receive, with_headers)


def refusal(method: str, headers: Headers, hosts: frozenset[str]) -> PlainTextResponse | None:
    """Return the answer that refuses a request; None if it is allowed."""
    if method not in _READING:
        return PlainTextResponse("This address is read-only.", 405, {"Allow": ", ".join(_READING)})
    host = headers.get("host", "")
    if not _is_known(_name(host), hosts):
        return PlainTextResponse("This server is not known under that host name; see --allowed-host.", 403)
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return PlainTextResponse("Only pages of this server may send this request.", 403)
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(headers):
        return PlainTextResponse("Only pages of this server may send this request.", 403)
    return None


def _signed_out(scope: Scope) -> PlainTextResponse | None:
    """Return the answer that refuses a reader without login or without the right to view; None for others."""
    if not login.configured():
        return None
    name = login.reader(HTTPConnection(scope).cookies)
    if name is None:
        return PlainTextResponse("Sign in first: open a page of this server.", 401)
    decision = access.may_read(name)
    return None if decision.allowed else PlainTextResponse(decision.reason, 403)


def _is_known(name: str | None, hosts: frozenset[str]) -> bool:
    """Tell whether a host name is one of ours; patterns are those of Streamlit's own check: `*.example`, `*`."""
    if name is None:
        return False
    patterns = (host for host in hosts if host.startswith("*."))
    return "*" in hosts or name in hosts or any(name.endswith(pattern[1:]) for pattern in patterns)


def _is_visit(headers: Headers) -> bool:
    """Tell whether a person follows a link, and no page loads the answer into itself."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _name(host: str) -> str | None:
    """Return the host name of a Host header without its port; None if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        malformed = parts.username is not None or parts.path or parts.port == 0
    except ValueError:
        return None
    return None if malformed else parts.hostname


_CLICK = "trigger_value"
_OFF = "The button was disabled, but the server received a click on it."
_MOST_KEPT = 3
"""Largest number of recorded clicks per message, as a forged one may contain thousands."""


def record_forged_clicks() -> None:
    """Record forged clicks from now on in this process."""
    from streamlit.runtime.state.session_state import SessionState  # noqa: PLC0415 - of the server

    call = SessionState._call_callbacks  # noqa: SLF001 - nothing public says it

    def looking(state: Any, **arguments: Any) -> None:
        for key in list(_forged(state))[:_MOST_KEPT]:
            _record_forged(key)
        call(state, **arguments)

    setattr(SessionState, "_call_callbacks", looking)  # noqa: B010 - typed


def _forged(state: Any) -> Iterator[str]:
    """Yield the keys of disabled buttons that were clicked."""
    new = state._new_widget_state  # noqa: SLF001 - as above
    for widget in list(new):
        metadata = new.widget_metadata.get(widget)
        off = metadata is not None and metadata.disabled and metadata.value_type == _CLICK
        if off and state._widget_changed(widget):  # noqa: SLF001 - as above
            yield widget.split("-", 2)[-1]


def _record_forged(key: str) -> None:
    decision = access.may_launch()
    reason = _OFF if decision.allowed else decision.reason
    logging.getLogger(LOG).warning("refused a forged click on %s: %s", plain(key), plain(reason))
    with contextlib.suppress(XlabenchError):
        access.job_queue().refuse(f"click {key}"[:100], None, reason)


LOG = "xlabench.refused"
_PERMITTED = ("GET", "HEAD", "OPTIONS")
_BAD_REQUEST, _NOT_FOUND, _SERVER_ERROR = 400, 404, 500
_LOOKED_FOR = ("/_stcore/health", "/_stcore/host-config")
_METRICS = "/_stcore/metrics"
"""Streamlit's own path with the number of readers and what they look up, which it gives to everybody."""
_POLICY = 1008
_LONGEST = 300
"""Characters of one header or address in a line."""
_MOST_ESCAPES = 300
"""Largest number of backslashes in the cookies of a request. Python 3.11 takes time for each that grows with the
length of the cookie: 60 kB of them would block all readers for ten seconds. Our cookies have none."""
_MOST_A_MINUTE = 600
_MINUTE_S = 60.0


class ReadOnlyMiddleware:
    """Refuses requests that do not only read, and logs every refusal."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._log = RateLimitedLog(logging.getLogger(LOG).warning)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        costly = scope["type"] in ("http", "websocket") and _is_costly(scope)
        if scope["type"] == "websocket" and costly:
            self._log(refusal_line({"method": "GET"} | dict(scope), 403))
            await send({"type": "websocket.close", "code": _POLICY})
            return
        if scope["type"] != "http":  # Streamlit logs other refusals of websockets
            await self._app(scope, receive, send)
            return

        async def send_and_log(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_refusal(scope, message["status"]):
                self._log(refusal_line(scope, message["status"]))
            await send(message)

        app = self._app
        if costly:
            app = PlainTextResponse("The cookies of this request cannot be read. Delete the cookies of this host.", 431)
        elif scope["method"] not in _PERMITTED:
            allowed = {"Allow": ", ".join(_PERMITTED)}
            app = PlainTextResponse("Read-only: this server accepts GET requests only.", 405, allowed)
        elif scope["path"].endswith(_METRICS):
            app = _signed_out(scope) or app
        await app(scope, receive, send_and_log)


def _is_refusal(scope: Scope, status: int) -> bool:
    """Tell whether an answer is a refusal; a missing path is none if Streamlit's page only looks for its server."""
    looks = status == _NOT_FOUND and scope["path"].endswith(_LOOKED_FOR)
    return _BAD_REQUEST <= status < _SERVER_ERROR and not looks


def _is_costly(scope: Scope) -> bool:
    """Tell whether parsing the cookies of a request would take long."""
    escapes: int = sum(value.count(b"\\") for name, value in scope["headers"] if name == b"cookie")
    return escapes > _MOST_ESCAPES


def refusal_line(scope: Scope, status: int) -> str:
    """Return a line about a refused request, without control characters."""
    headers = Headers(scope=scope)
    path = bytes(scope.get("raw_path") or b"").decode("latin-1")
    query = bytes(scope.get("query_string") or b"").decode("latin-1")
    facts = {"host": headers.get("host"), "origin": headers.get("origin"), "for": headers.get("x-forwarded-for")}
    client = scope.get("client")
    parts = [f"refused {status}", _short(scope["method"]), _short(f"{path}?{query}" if query else path)]
    parts += [f"from {client[0]}"] if client else []
    parts += [f"{name} {_short(value)}" for name, value in facts.items() if value is not None]
    return " ".join(parts)


def _short(text: str) -> str:
    return ascii(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


@dataclass
class RateLimitedLog:
    """Passes lines to the log, with a limit per minute, so that a flood of requests cannot fill the disk."""

    write: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    _began: float = float("-inf")
    _lines_n: int = 0

    def __call__(self, text: str) -> None:
        now = self.clock()
        if now - self._began >= _MINUTE_S:
            left_out = self._lines_n - _MOST_A_MINUTE
            if left_out > 0:
                self.write(f"refused {left_out} more requests before that, which were not logged")
            self._began, self._lines_n = now, 0
        self._lines_n += 1
        if self._lines_n <= _MOST_A_MINUTE:
            self.write(text)
