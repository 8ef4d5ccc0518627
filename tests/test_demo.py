"""The history that `make demo` shows: it is laid out, served within a minute, and small; its runs are all described."""

import importlib
import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from runner.home import settings_file
from store import query
from store.state.reviews import listed
from tests.browser.harness import free_port

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
RUNS = sorted(path.name for path in (DEMO / "runs").iterdir())
A_MINUTE = 60.0


def test_the_demo_is_laid_out_and_holds_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ingest is a process; that which the tool becomes, to serve, is only named: the long form starts it."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = importlib.import_module("demo")
    became: list[str] = []
    monkeypatch.setattr(tool.os, "execv", lambda _program, words: became.extend(words))
    assert tool.show(tmp_path / "demo", "8501") == 0
    assert became[1:] == ["-m", "xlabench", "serve", "--home", str(tmp_path / "demo"), "--port", "8501"]
    _holds_every_run(tmp_path / "demo")


def _holds_every_run(home: Path) -> None:
    store = query.current_snapshot(home / "store")
    assert store is not None
    ids = {row[0] for row in query.connect(store).execute("SELECT DISTINCT run_id FROM runs").fetchall()}
    assert ids <= {_run_id(name) for name in RUNS}
    assert len(listed(home / "state.sqlite")) > 0
    assert settings_file.read(home).dashboard.label == "nightly"


@pytest.mark.thorough
def test_the_demo_is_served_within_a_minute_and_holds_every_run(tmp_path: Path) -> None:
    port = free_port()
    began = time.monotonic()
    command = [sys.executable, "tools/demo.py", "show", str(tmp_path / "demo"), "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while not _healthy(port):
            assert process.poll() is None, process.stdout and process.stdout.read()
            assert time.monotonic() - began < A_MINUTE
            time.sleep(0.2)
        _holds_every_run(tmp_path / "demo")
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _run_id(name: str) -> str:
    run_id: str = json.loads((DEMO / "runs" / name / "run.json").read_text())["run"]["run_id"]
    return run_id


def test_the_demo_is_small() -> None:
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 10 * 10**6


@pytest.mark.parametrize("name", [name for name in RUNS if not name.startswith("nightly")])
def test_every_run_is_described(name: str) -> None:
    assert re.search(rf"`{name}`", (DEMO / "README.md").read_text(encoding="utf-8"))
