"""Start the dashboard: one process, one address, no traffic to the outside."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.settings import STORE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

APP = Path(__file__).with_name("app.py")
EXIT_DONE = 0
EXIT_USAGE = 2
GRACE_S = 3
"""Seconds in which what is being answered may end after Ctrl-C or SIGTERM."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, never bound by default

_THEME: dict[str, Any] = {
    "theme.headingFontSizes": ["1.9rem", "1.45rem", "1.2rem", "1.1rem", "1rem", "0.9rem"],
    "theme.baseFontSize": 15,
    "theme.light.primaryColor": "#2563C9",
    "theme.dark.primaryColor": "#5B9BF3",
    "theme.paddingTop": "1rem",
    "theme.paddingBottom": "2rem",
    "theme.showWidgetBorder": True,
}
"""Denser than Streamlit's own look: pages of numbers."""


def serve(
    store_dir: Path | str,
    address: str = "127.0.0.1",
    port: int = 8501,
    *,
    allowed_hosts: Iterable[str] = (),
) -> int:
    """Serve the store's pages until Ctrl-C or SIGTERM; return the exit code.

    Args:
        store_dir: folder with `CURRENT` and the snapshots; it may still be empty.
        address: address to listen on; other machines reach it only when this is not a loopback address.
        port: TCP port.
        allowed_hosts: more host names under which browsers may address the pages, as behind a proxy.
    """
    problem = _why_not(address, port)
    if problem:
        print(f"xlabench serve: {problem}", file=sys.stderr)  # noqa: T201 - the one sentence on the terminal
        return EXIT_USAGE
    os.environ[STORE_VARIABLE] = str(Path(store_dir).resolve())
    with contextlib.suppress(_Ended):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)
        _run_streamlit(streamlit_options(address, port, allowed_hosts))
    return EXIT_DONE


class _Ended(BaseException):
    """A signal asked the server to end; no error, and nothing that a handler of errors should catch."""


def _end(number: int, frame: object) -> None:
    """End at a signal, before the server listens; later it shuts down in order, and then raises the signal again."""
    del number, frame
    raise _Ended


def streamlit_options(address: str, port: int, allowed_hosts: Iterable[str] = ()) -> dict[str, Any]:
    """Return Streamlit's settings: closed to foreign hosts, quiet, no watcher, no error details in the page."""
    return {
        "server.address": address,
        "server.port": port,
        "server.headless": True,
        "server.allowedHosts": _hosts(address, allowed_hosts),
        "server.fileWatcherType": "none",
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "client.toolbarMode": "minimal",
        "global.developmentMode": False,
        "logger.level": "warning",
        **_THEME,
    }


def _hosts(address: str, more: Iterable[str]) -> list[str]:
    hosts = [*_LOOPBACK, *more]
    if address in _ANY_ADDRESS:
        hosts.append(socket.gethostname())
    else:
        hosts.append(address)
    return list(dict.fromkeys(hosts))


def _why_not(address: str, port: int) -> str | None:
    """Return one sentence when nothing can listen there, else None."""
    if not 1 <= port <= 65535:  # noqa: PLR2004 - the range of TCP ports
        return f"port {port} is not between 1 and 65535; choose one with --port."
    try:
        family, kind, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except socket.gaierror:
        return f"'{address}' is no address of a machine; use --address 127.0.0.1."
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return f"port {port} on {address} is taken; choose another with --port, or stop the program that holds it."
        if error.errno == errno.EACCES:
            return f"port {port} needs administrator rights; choose one above 1023 with --port."
        return f"cannot listen on {address}:{port} ({error.strerror}); use --address 127.0.0.1."
    return None


def _run_streamlit(options: dict[str, Any]) -> None:
    """Run Streamlit with our routes in this process, so that no child can outlive it; it ends at a signal."""
    import streamlit as st  # noqa: PLC0415 - half a second that a refused port need not cost

    from dashboard.routes import routes  # noqa: PLC0415 - as above

    _trust_charts()
    st.App(APP, routes=routes(options["server.allowedHosts"]), lifespan=_bounded_end).run(config=options)


@contextlib.asynccontextmanager
async def _bounded_end(app: object) -> AsyncIterator[None]:
    """Let a reader who takes a file slowly, or not at all, hold the end of the server for seconds only.

    Streamlit makes the server and hands it to nobody; by now it has put its own method in place of our handler.
    """
    import uvicorn  # noqa: PLC0415 - comes with Streamlit

    del app
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):
        server.config.timeout_graceful_shutdown = GRACE_S
    yield


def _trust_charts() -> None:
    """Send charts without checking them against the grammar, which takes half of the time of drawing; tests check."""
    from altair.utils import schemapi  # noqa: PLC0415 - as above

    schemapi.disable_debug_mode()
    setattr(schemapi.SchemaBase, "validate", classmethod(lambda _cls, _spec, _schema=None: None))  # noqa: B010 - typed
