"""`xlabench serve`: the dashboard."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from typing import TYPE_CHECKING

from xlabench.command import EXIT_USAGE, add_database, home_of, say, state_of, store_of, verb

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager

    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(verbs, "serve", _serve, "Serve the dashboard, and start a worker for its jobs, until Ctrl-C.")
    parser.add_argument(
        "--address", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=int, default=8501, help="TCP port (default: 8501)")
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="accept requests for this host name of a proxy; may be repeated",
    )
    parser.add_argument(
        "--base-path",
        default="",
        metavar="PATH",
        help="path under which a proxy serves the dashboard, for example /bench",
    )
    parser.add_argument(
        "--no-worker", action="store_true", help="start no worker; run `xlabench worker` separately to process jobs"
    )
    add_database(parser)


def _serve(parsed: argparse.Namespace) -> int:
    if importlib.util.find_spec("streamlit") is None:
        return say("The dashboard needs Streamlit. Install it: pip install 'xlabench[dashboard]'", EXIT_USAGE)
    from dashboard.server import serve
    from dashboard.settings import STATE_VARIABLE

    os.environ[STATE_VARIABLE] = str(state_of(parsed).resolve())
    return serve(
        store_of(parsed),
        parsed.address,
        parsed.port,
        allowed_hosts=parsed.allowed_host,
        base_path=parsed.base_path,
        beside=_beside(parsed),
    )


def _beside(parsed: argparse.Namespace) -> AbstractContextManager[object]:
    """Return what runs beside the dashboard."""
    from xlabench.dashboard_worker import DashboardWorker

    if parsed.no_worker:
        return contextlib.nullcontext()
    return DashboardWorker(home_of(parsed).resolve(), parsed.database)
