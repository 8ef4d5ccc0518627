"""The door of the server: nothing may be sent in but questions, and what is refused is told to the log.

Whatever people change here goes through the websocket of a page and the queue; no address takes a body. Streamlit's own
would take files of anybody who has a page open, into memory.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = "xlabench.refused"
_ASKING = ("GET", "HEAD", "OPTIONS")
_BAD_REQUEST, _NOT_FOUND, _SERVER_ERROR = 400, 404, 500
_LOOKED_FOR = ("/_stcore/health", "/_stcore/host-config")
_POLICY = 1008
_LONGEST = 300
"""Characters of one header or address in a line."""
_MOST_ESCAPES = 300
"""Backslashes in the cookies of a request. Python 3.11 takes time for each that grows with the length of the cookie:
60 kB of them would keep everybody waiting for ten seconds. Cookies of ours have none."""
_MOST_A_MINUTE = 600
_MINUTE_S = 60.0


class ReadOnlyMiddleware:
    """Refuses requests that do more than ask; tells the log of every answer that is a refusal."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tell = Teller(logging.getLogger(LOG).warning)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        costly = scope["type"] in ("http", "websocket") and _is_costly(scope)
        if scope["type"] == "websocket" and costly:
            self._tell(line({"method": "GET"} | dict(scope), 403))
            await send({"type": "websocket.close", "code": _POLICY})
            return
        if scope["type"] != "http":  # of other refusals of websockets, Streamlit tells by itself
            await self._app(scope, receive, send)
            return

        async def telling(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_refusal(scope, message["status"]):
                self._tell(line(scope, message["status"]))
            await send(message)

        app = self._app if scope["method"] in _ASKING else _closed()
        await (_too_costly() if costly else app)(scope, receive, telling)


def _is_refusal(scope: Scope, status: int) -> bool:
    """Tell whether an answer refuses something; Streamlit's page looks for its server below its own path first."""
    looks = status == _NOT_FOUND and scope["path"].endswith(_LOOKED_FOR)
    return _BAD_REQUEST <= status < _SERVER_ERROR and not looks


def _closed() -> PlainTextResponse:
    return PlainTextResponse("Read-only: this server accepts GET requests only.", 405, {"Allow": ", ".join(_ASKING)})


def _is_costly(scope: Scope) -> bool:
    """Tell whether to read the cookies of a request would take long."""
    escapes: int = sum(value.count(b"\\") for name, value in scope["headers"] if name == b"cookie")
    return escapes > _MOST_ESCAPES


def _too_costly() -> PlainTextResponse:
    return PlainTextResponse("The cookies of this request cannot be read: remove those of this host.", 431)


def line(scope: Scope, status: int) -> str:
    """Return what was refused, as one line that no terminal obeys."""
    headers = Headers(scope=scope)
    path = bytes(scope.get("raw_path") or b"").decode("latin-1")
    query = bytes(scope.get("query_string") or b"").decode("latin-1")
    said = {"host": headers.get("host"), "origin": headers.get("origin"), "for": headers.get("x-forwarded-for")}
    client = scope.get("client")
    parts = [f"refused {status}", _short(scope["method"]), _short(f"{path}?{query}" if query else path)]
    parts += [f"from {client[0]}"] if client else []
    parts += [f"{name} {_short(value)}" for name, value in said.items() if value is not None]
    return " ".join(parts)


def _short(text: str) -> str:
    return ascii(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


@dataclass
class Teller:
    """Hands lines on, but no more than some a minute: whoever floods the server must not fill the disk."""

    tell: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    _began: float = float("-inf")
    _told_n: int = 0

    def __call__(self, text: str) -> None:
        now = self.clock()
        if now - self._began >= _MINUTE_S:
            left_out = self._told_n - _MOST_A_MINUTE
            if left_out > 0:
                self.tell(f"refused {left_out} more requests before that, which were not logged")
            self._began, self._told_n = now, 0
        self._told_n += 1
        if self._told_n <= _MOST_A_MINUTE:
            self.tell(text)
