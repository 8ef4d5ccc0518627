"""Start the dashboard: one process, one address, and no requests to other servers."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import ipaddress
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from dashboard import settings
from dashboard.settings import (
    BASE_VARIABLE,
    LOGIN_VARIABLE,
    LOOPBACK_VARIABLE,
    MEMORY_VARIABLE,
    QUERY_MEMORY,
    STORE_VARIABLE,
)
from store.errors import XlabenchError

APP = Path(__file__).with_name("app.py")
EXIT_DONE = 0
EXIT_USAGE = 2
MOST_SENT_MB = 4
"""Largest message of a page: its longest text is a configuration of operators, and a request has at most 1 MiB."""
GRACE_S = 3
"""Seconds that running requests may take to end after Ctrl-C or SIGTERM."""
_ENDING = (signal.SIGINT, signal.SIGTERM)

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PATH = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9_-]*)+/?")
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
"""Settings of the theme, which is denser than Streamlit's own, for pages of numbers."""


def serve(
    store_dir: Path | str,
    address: str = "127.0.0.1",
    port: int = 8501,
    *,
    allowed_hosts: Iterable[str] = (),
    base_path: str = "",
    background: contextlib.AbstractContextManager[object] | None = None,
) -> int:
    """Serve the store's pages until Ctrl-C or SIGTERM; return the exit code.

    Args:
        store_dir: folder with `CURRENT` and the snapshots; it may still be empty.
        address: address to listen on; other machines reach it only if it is not a loopback address.
        port: TCP port.
        allowed_hosts: additional host names under which browsers may request the pages, as behind a proxy.
        base_path: path of the pages on a host with other pages, such as `/bench`; the proxy must pass it on.
        background: context manager that is active while pages are served.
    """
    hosts = list(allowed_hosts)
    problem = _path_problem(base_path) or _port_problem(address, port) or _memory_problem()
    if problem:
        return _refuse(problem)
    os.environ[STORE_VARIABLE] = str(Path(store_dir).resolve())
    os.environ[BASE_VARIABLE] = base_path.rstrip("/")
    os.environ.setdefault(MEMORY_VARIABLE, QUERY_MEMORY)
    # An allowed host belongs to a proxy, through which others reach the server.
    os.environ[LOOPBACK_VARIABLE] = "1" if is_loopback(address) and not hosts else ""
    options = streamlit_options(address, port, hosts, base_path)
    problem = _add_login(options)
    if problem:
        return _refuse(problem)
    with contextlib.suppress(_Ended), background or contextlib.nullcontext():
        for number in _ENDING:
            signal.signal(number, _end)
        _run_streamlit(options)
    return EXIT_DONE


def _memory_problem() -> str | None:
    """Say why the limit of queries is none; pages would fail, one query after the other."""
    limit = settings.query_memory()
    if limit is None:
        return None
    try:
        duckdb.connect(config={"memory_limit": limit}).close()
    except duckdb.Error:
        return f"${MEMORY_VARIABLE} is {limit!r}, which is not a size such as 1GB."
    return None


def _refuse(problem: str) -> int:
    print(f"xlabench serve: {problem}", file=sys.stderr)  # noqa: T201 - the one sentence on the terminal
    return EXIT_USAGE


class _Ended(BaseException):
    """A signal asked the server to end; handlers of errors must not catch it."""


def _end(number: int, frame: object) -> None:
    """Handle a signal before the server listens; later the server itself shuts down and raises the signal again.

    Further ones are ignored: they would interrupt the end, which takes seconds at most.
    """
    del number, frame
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise _Ended


def streamlit_options(
    address: str, port: int, allowed_hosts: Iterable[str] = (), base_path: str = ""
) -> dict[str, Any]:
    """Return Streamlit's settings: no foreign hosts, few logs, no file watcher, no error details in the page."""
    return {
        "server.address": address,
        "server.port": port,
        "server.baseUrlPath": base_path.strip("/"),
        "server.headless": True,
        "server.allowedHosts": _hosts(address, allowed_hosts),
        "server.fileWatcherType": "none",
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.maxUploadSize": 1,
        "server.maxWidgetStateSize": MOST_SENT_MB,
        "browser.gatherUsageStats": False,
        # The address that it prints; without one it would ask an external server for the address of this machine.
        "browser.serverAddress": socket.gethostname() if address in _ANY_ADDRESS else address,
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "client.toolbarMode": "minimal",
        "global.developmentMode": False,
        # Python collects garbage by itself. Streamlit would also do so after each run of the script, before it tells
        # the browser about the end: a quarter of the server's time for a changed filter, as that goes over all frames.
        "runner.postScriptGC": False,
        "logger.level": "warning",
        **_THEME,
    }


def is_loopback(address: str) -> bool:
    """Tell whether only this machine reaches an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def _hosts(address: str, extra: Iterable[str]) -> list[str]:
    hosts = [*_LOOPBACK, *extra]
    if address in _ANY_ADDRESS:
        hosts.append(socket.gethostname())
    else:
        hosts.append(address)
    return list(dict.fromkeys(hosts))


def _port_problem(address: str, port: int) -> str | None:
    """Return one sentence if the server cannot listen at the address and port; else None."""
    if not 1 <= port <= 65535:  # noqa: PLR2004 - the range of TCP ports
        return f"port {port} is not between 1 and 65535; choose one with --port."
    try:
        family, kind, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except socket.gaierror:
        return f"'{address}' is not a valid address; use --address 127.0.0.1."
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return f"port {port} on {address} is taken; choose another with --port, or stop the program that uses it."
        if error.errno == errno.EACCES:
            return f"port {port} needs administrator rights; choose one above 1023 with --port."
        return f"cannot listen on {address}:{port} ({error.strerror}); use --address 127.0.0.1."
    return None


def _path_problem(base_path: str) -> str | None:
    """Return one sentence if the path is invalid for pages; else None."""
    if not base_path or _PATH.fullmatch(base_path):
        return None
    return f"'{base_path}' is not a valid path; use letters, digits and hyphens, for example --base-path /bench."


def _add_login(options: dict[str, Any]) -> str | None:
    """Set the options and the variable of the login; return one sentence if it cannot work, else None."""
    from dashboard.access import login  # noqa: PLC0415 - as in _run_streamlit

    options[login.SECRETS_OPTION] = login.login_files(settings.home())
    try:
        os.environ[LOGIN_VARIABLE] = "1" if login.has_login(options[login.SECRETS_OPTION]) else ""
    except login.BrokenLogin as error:
        return str(error)
    return None


def _run_streamlit(options: dict[str, Any]) -> None:
    """Run Streamlit with our routes in this process until a signal; no child process can outlive it."""
    import streamlit as st  # noqa: PLC0415 - it takes half a second, which a refused port need not cost
    from starlette.middleware import Middleware  # noqa: PLC0415 - as above

    _drop_messages_of_the_start()

    from dashboard.access import guard  # noqa: PLC0415 - as above
    from dashboard.routes import routes  # noqa: PLC0415 - as above

    _trust_charts()
    _trust_own_pages()
    _close_malformed_handshakes()
    _log(guard.LOG)
    guard.record_forged_clicks()
    own_routes = routes(options["server.allowedHosts"], os.environ[BASE_VARIABLE])
    st.App(APP, routes=own_routes, middleware=[Middleware(guard.ReadOnlyMiddleware)], lifespan=_life).run(
        config=options
    )


def _log(name: str) -> None:
    """Write a log of xlabench to the output of the server, with times."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    logger.propagate = False


@contextlib.asynccontextmanager
async def _life(app: object) -> AsyncIterator[None]:
    """Warm up at the start; limit the time that a slow download can delay the end.

    Streamlit does not expose its server; the handler that it has installed for SIGTERM is a method of the server.
    """
    import uvicorn  # noqa: PLC0415 - comes with Streamlit

    del app
    threading.Thread(target=_prepare, name="warm-up", daemon=True).start()
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):
        server.config.timeout_graceful_shutdown = GRACE_S
        for number in _ENDING:
            signal.signal(number, partial(_end_server, server))
    yield


def _end_server(server: Any, number: int, frame: object) -> None:
    """Let the server end; a second signal changes nothing, as uvicorn would cancel its tasks and print tracebacks."""
    if not server.should_exit:
        server.handle_exit(number, frame)


_MODULES = ("dashboard.screens", "dashboard.jobs.following", "scipy.special", "scipy.stats")
"""Modules to import before the first reader; SciPy's are named because the statistics import them only when used."""


def _prepare() -> None:
    """Import the modules of pages and read the data of every page, so that a reader need not wait."""
    for name in _MODULES:
        importlib.import_module(name)
    from dashboard import data  # noqa: PLC0415 - as in _run_streamlit
    from store import query  # noqa: PLC0415 - as in _run_streamlit

    newest = query.current_snapshot(settings.store_dir())
    if newest is not None:
        with contextlib.suppress(XlabenchError):  # each page reports it
            data.choices(str(newest))
    _settle()


def _settle() -> None:
    """Exclude all present objects, such as modules, from later garbage collections."""
    gc.collect()
    gc.freeze()


def _trust_own_pages() -> None:
    """Accept websockets only from pages of the host that they name.

    Streamlit would also accept them from any port of this machine, and it would ask an external server for its own
    address while every reader waits; a foreign page could cause that.
    """
    from streamlit.web.server.starlette import starlette_websocket  # noqa: PLC0415 - as above

    setattr(starlette_websocket, "is_url_from_allowed_origins", lambda _origin: False)  # noqa: B010 - typed


def _close_malformed_handshakes() -> None:
    """Close a websocket whose first request cannot be parsed, such as one with a line of 8 kB.

    uvicorn would keep it open and fail on it at the end.
    """
    from uvicorn.protocols.websockets import websockets_sansio_impl  # noqa: PLC0415 - as above

    protocol = websockets_sansio_impl.WebSocketsSansIOProtocol
    received = protocol.data_received

    def closing(self: Any, data: bytes) -> None:
        received(self, data)
        if self.conn.handshake_exc is not None:
            self.transport.close()

    setattr(protocol, "data_received", closing)  # noqa: B010 - typed


def _drop_messages_of_the_start() -> None:
    """Drop what Streamlit says because we import and set up before it runs, though nothing is served yet.

    It advises to restart, as it reads our options after its files, and names where the caches of our modules are.
    """
    for name, text in (
        ("streamlit.config", "restart streamlit"),
        ("streamlit.runtime.caching.cache_data_api", "No runtime found"),
    ):
        logging.getLogger(name).addFilter(lambda record, text=text: text not in record.getMessage())  # type: ignore[misc]


def _trust_charts() -> None:
    """Skip the validation of charts, which takes half of the time of drawing; tests validate them."""
    from altair.utils import schemapi  # noqa: PLC0415 - as above

    schemapi.disable_debug_mode()
    setattr(schemapi.SchemaBase, "validate", classmethod(lambda _cls, _spec, _schema=None: None))  # noqa: B010 - typed
