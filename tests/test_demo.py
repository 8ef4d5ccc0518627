"""The history that `make demo` shows: it is laid out, served within a minute, and small; its runs are all described."""

from __future__ import annotations

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
        store = query.current_snapshot(tmp_path / "demo" / "store")
        assert store is not None
        ids = {row[0] for row in query.connect(store).execute("SELECT DISTINCT run_id FROM runs").fetchall()}
        assert ids <= {_run_id(name) for name in RUNS}
        assert len(listed(tmp_path / "demo" / "state.sqlite")) > 0
        assert settings_file.read(tmp_path / "demo").dashboard.label == "nightly"
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
