"""`xlabench serve`: the dashboard, and a worker beside it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import threading
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from runner import flag
from runner.home import settings_file
from runner.jobs.queue import owner
from xlabench.command import (
    EXIT_DONE,
    EXIT_USAGE,
    Verbs,
    add_database,
    add_many,
    home_of,
    say,
    state_of,
    store_of,
    verb,
)

_RETRY_S = 2.0
"""Seconds between two attempts to start a worker, after one has ended or while another one runs."""
_END_S = 10.0


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(verbs, "serve", _serve, "Serve the dashboard, and start a worker for its jobs, until Ctrl-C.")
    parser.add_argument(
        "--address", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=flag.positive, default=8501, help="TCP port (default: 8501)")
    add_many(
        parser, "--allowed-host", metavar="NAME", help="accept requests for this host name of a proxy; may be repeated"
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
    settings_file.read(home_of(parsed))  # refuses a broken file here, which only pages and the worker read later
    if importlib.util.find_spec("streamlit") is None:
        return say("The dashboard needs Streamlit. Install it: pip install 'xlabench[dashboard]'", EXIT_USAGE)
    from dashboard.server import serve
    from dashboard.settings import STATE_VARIABLE

    os.environ[STATE_VARIABLE] = str(state_of(parsed).resolve())
    code = serve(
        store_of(parsed),
        parsed.address,
        parsed.port,
        allowed_hosts=parsed.allowed_host,
        base_path=parsed.base_path,
        background=nullcontext() if parsed.no_worker else DashboardWorker(home_of(parsed).resolve(), parsed.database),
    )
    if code == EXIT_DONE:
        # A thread may still query DuckDB, as the one that prepares the first page does: the interpreter would abort.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


@dataclass
class DashboardWorker:
    """A context in which the home has a worker; ours is started if no other one runs, and again if it dies.

    The worker ends with the dashboard, its jobs do not.
    """

    home: Path
    database: Path | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _popen: subprocess.Popen[bytes] | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        # One thread starts every worker and lives as long as the dashboard, because a worker ends with that thread.
        self._thread = threading.Thread(target=self._keep, name="worker", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._popen is not None:
            self._popen.terminate()
        if self._thread is not None:
            self._thread.join(_END_S)

    def _keep(self) -> None:
        while not self._over.is_set():
            if owner(self.home) is None:
                self._popen = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL)
                if self._over.is_set():  # the worker was started while the dashboard was ending
                    self._popen.terminate()
                self._popen.wait()
            self._over.wait(_RETRY_S)

    def _command(self) -> list[str]:
        words = [sys.executable, "-m", "xlabench", "worker", "--home", str(self.home), "--parent", str(os.getpid())]
        return words + (["--database", str(self.database)] if self.database else [])
