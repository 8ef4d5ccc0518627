"""Real commands while their clock jumps several times a second: nothing fails, and no time below zero is measured."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import pytest

from runner.home.settings_file import Person
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, Protocol, RunRequest, Selection
from runner.schedule import devices
from tests.faults.fault_rows import add_row

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("clock.c")
OFFSETS_S = (0, 86_400, -7_200, 34_560_000, -31_536_000, 1)
EVERY_S = 0.3
PATIENCE_S = 300.0
REQUEST = RunRequest(
    selection=Selection(
        suite_name=("dummy",), accelerator=("cpu",), xla=(None,), dynamo=(None, "inductor"), test=("eval",)
    ),
    protocol=Protocol(repeat=6, processes=1),
)


class Clock:
    """A clock that jumps, for the commands that get its environment."""

    def __init__(self, folder: Path) -> None:
        self._file, library = folder / "offset", folder / "clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        self._set(0)
        self.environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "XLABENCH_TEST_CLOCK": str(self._file),
            "PYTHONPATH": str(ROOT),
        }
        self.jumps_n = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._jump)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _jump(self) -> None:
        for offset in itertools.cycle(OFFSETS_S):
            if self._over.wait(EVERY_S):
                return
            self._set(offset)
            self.jumps_n += 1

    def _set(self, offset: int) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(str(offset))
        new.replace(self._file)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "xlabench", *words]

    def run(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words),
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def clock(tmp_path, monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("without a compiler of C there is no clock to set")
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    with Clock(tmp_path) as found:
        yield found


def records(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]


def assert_measured(run: Path) -> None:
    """Every process measured, once, and no duration is below zero."""
    found = records(run)
    assert len(found) == 4
    assert {each["status"] for each in found} == {"ok"}
    assert len({each["record_id"] for each in found}) == 4
    for each in found:
        assert [name for name, value in each["metrics"].items() if any(n < 0 for n in _numbers(value))] == []
        assert all(number >= 0 for number in _numbers(each["measurement"]["blocks"]))


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict | list):
        return [n for each in (value.values() if isinstance(value, dict) else value) for n in _numbers(each)]
    return [value] if isinstance(value, int | float) else []


@pytest.mark.timeout(1200)
def test_a_run_its_ingest_and_its_report(tmp_path, clock):
    words = ["--suite-name", "dummy", "--accelerator", "cpu", "--xla", "None", "--test", "eval", "--repeat", "6"]
    clock.run("run", *words, "--processes", "1", "--home", str(tmp_path), "--output-dirname", str(tmp_path / "run"))
    assert_measured(tmp_path / "run")
    assert "Ingested 0 new records" in clock.run("ingest", str(tmp_path / "run"), "--home", str(tmp_path))
    clock.run("report", "--home", str(tmp_path))
    assert clock.jumps_n > 20
    said = "each result once, none below 0 s"
    add_row("clock set while a real run, its ingest and its report go on", clock.jumps_n, said, lost=0, doubled=0)


@pytest.mark.timeout(1200)
def test_a_worker_and_its_job(tmp_path, clock):
    home = tmp_path / "home"
    job_queue = JobQueue(home, Person("ann"))
    home.mkdir()
    job_queue.submit(JobRequest(request=REQUEST, label="clock"))
    worker = subprocess.Popen(
        clock.command("worker", "--home", str(home)), cwd=ROOT, env=clock.environment, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE_S
    while job_queue.job(1).state in ("queued", "starting", "running"):
        assert time.monotonic() < deadline, job_queue.job(1)
        assert worker.poll() is None, worker.communicate()
        time.sleep(0.1)
    worker.send_signal(signal.SIGINT)
    said = worker.communicate(timeout=60)[1]
    assert "Traceback" not in said
    assert (job_queue.job(1).state, job_queue.job(1).attempts) == ("done", 1), said
    assert_measured(Path(job_queue.job(1).folder))
    said = "done once, each result once"
    add_row("clock set while a worker carries out a job", clock.jumps_n, said, lost=0, doubled=0)
