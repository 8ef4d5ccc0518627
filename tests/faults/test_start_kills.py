"""Worker and dashboard are killed at any moment of their start: what waits goes on waiting, and nothing stays behind.

Two rounds each; `XLABENCH_START_KILLS=50` (`make faults`) makes it fifty.
"""

import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from runner import processes
from runner.home.settings_file import Person
from runner.jobs.queue import JobQueue, owner
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.schedule import devices
from store.state import FILE_NAME
from store.state.database import check
from tests.command import free_port
from tests.faults.fault_rows import add_row
from tests.tiers import first_of

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("XLABENCH_START_KILLS", "2"))
TAG = "XLABENCH_TEST_START"
LATEST_S = {"worker": 2.5, "serve": 3.5}
"""Both have begun their work by then, where nobody else is busy."""
GONE_WITHIN_S = 15.0
WAITS = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("tpu",)))


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("verb", first_of(["serve", "worker"]))
def test_a_kill_at_any_moment_leaves_the_queue_whole(tmp_path, monkeypatch, verb):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    home, port, generator = tmp_path / "home", free_port(), random.Random(22)
    job_queue = JobQueue(home, Person("ann"))
    home.mkdir()
    job_queue.submit(JobRequest(request=WAITS, label="waits"))
    words = ["--port", str(port)] if verb == "serve" else []
    for number in range(ROUNDS):
        env = {**os.environ, TAG: str(tmp_path), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "xlabench", verb, "--home", str(home), *words]
        popen = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(generator.uniform(0.05, LATEST_S[verb]))
        assert popen.poll() is None, f"round {number}: it could not start after the kill before"
        popen.kill()
        popen.wait()
        assert gone(str(tmp_path)) == [], f"round {number}"
    check(home / FILE_NAME)
    [job] = job_queue.listed()
    assert (job.state, job.attempts) == ("queued", 0)
    assert [each.action for each in job_queue.actions()] == ["submit"]
    # The worker that a killed server leaves notices it, and ends, within seconds.
    until = time.monotonic() + GONE_WITHIN_S
    while owner(home) is not None and time.monotonic() < until:
        time.sleep(0.1)
    assert owner(home) is None
    left = [each.name for each in (tmp_path / "tmp").iterdir()]
    assert left == []
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    said = "the queue is whole, the next one starts"
    add_row(f"kill -9 of `xlabench {verb}` at any moment of its start", ROUNDS, said, lost=0, doubled=0)


def gone(tag: str) -> list[psutil.Process]:
    """Wait for the end of all that was started; return what stays."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := processes.tagged(tag, TAG)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
