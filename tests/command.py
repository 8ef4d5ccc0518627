"""Run `xlabench` as a user does, in any interpreter."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from store.choose import newest_snapshot
from store.query import connect
from tests import warm

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 400
START_S = 60


def xlabench(
    *words: str | Path, code: int = 0, python: str | Path = sys.executable
) -> subprocess.CompletedProcess[str]:
    """Run a verb to its end and check its exit code; no user should meet a traceback or a binding's noise.

    A run measures each experiment in one process unless the words say otherwise: most tests count records.
    Of this interpreter, the process is forked from one that has the imports done.
    """
    if words[:1] == ("run",) and "--processes" not in words:
        words += ("--processes", "1")
    if python == sys.executable:
        done = warm.run("xlabench", words)
    else:
        command = [python, "-m", "xlabench", *map(str, words)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "nanobind" not in done.stderr
    return done


def index_rows(home: Path, query: str) -> list[dict[str, Any]]:
    """Return what the index of a home answers to a query, row by row."""
    with connect(newest_snapshot(home / "store")) as con:
        found = con.execute(query)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@contextlib.contextmanager
def working(home: Path, *flags: str) -> Iterator[warm.Started]:
    """Have a worker for the home, which is killed at the end; the commands that it starts are whole interpreters."""
    with tempfile.TemporaryFile() as said:
        worker = warm.serve("xlabench", ["worker", "--home", home, *flags], said, imports=None)
        try:
            worker.says("waiting for jobs")
            yield worker
        finally:
            worker.kill()
            worker.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(
    home: Path,
    python: str | Path = sys.executable,
    cwd: Path = ROOT,
    *,
    words: Iterable[str] = (),
    base: str = "",
    log: Path | None = None,
    whole: bool = False,
) -> Iterator[int]:
    """Serve a home's dashboard; give the port once it is healthy, and end it by Ctrl-C.

    Further words of the command may put the pages below the path `base`; what the server says goes to the file `log`.
    Unless it has to be a whole interpreter, or lies elsewhere, it is forked from a process that has the imports done.
    """
    port = free_port()
    command = ["serve", "--home", str(home), "--port", str(port), "--no-worker", *words]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    server: subprocess.Popen[bytes] | warm.Started
    with log.open("wb+") if log else tempfile.TemporaryFile() as said:
        if whole or (python, cwd) != (sys.executable, ROOT):
            command = [str(python), "-m", "xlabench", *command]
            server = subprocess.Popen(command, cwd=cwd, env=env, stdout=said, stderr=subprocess.STDOUT)
        else:
            server = warm.serve("xlabench", command, said, env=env)
        try:
            assert _healthy(port, base)
            yield port
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=START_S)
        said.seek(0)
        output = said.read()
        assert b"Traceback" not in output
        assert b"No runtime found" not in output, "a user reads Streamlit's messages of the start"


def _healthy(port: int, base: str) -> bool:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        address = f"http://127.0.0.1:{port}{base}/_stcore/health"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)
        time.sleep(0.2)
    return False
