"""Whatever is killed, however hard: nothing is lost, nothing is doubled, no process stays."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runner import processes
from store.ingest import ingest
from store.query import connect, current_snapshot
from tests import warm
from tests.faults.fault_rows import add_row
from tests.faults.faulty_suite import HELD_WHERE, LATE_CALLS

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
GONE_WITHIN_S = 60.0
PATIENCE_S = 120.0
TERMINAL = {"TTY_COMPATIBLE": "1", "COLUMNS": "200"}
"""Where a run believes to be on a terminal it tells in its live line what goes on, by which it is caught."""


class LiveRun:
    """A run of two models, started as a user starts it, caught while the second one is being measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder.parent / "stderr.txt"
        self.held.touch()
        try:
            self.go_on()
        except BaseException:
            self.held.unlink()  # else it would never end, and every later run would wait for its device
            self.popen.kill()
            raise

    @property
    def held(self) -> Path:
        """While it exists, the second model's measurement does not end: however late a kill comes, it is in time."""
        return self.folder.parent / "held"

    def go_on(self, *words: str) -> None:
        """Start the command, for the first time or once more, and catch the processes of the second model."""
        self.start(*words)
        self._wait_for("slow eval eager on cpu: measuring")
        self.server = self._only(self.scheduler.children())
        self.child = self._only(self.server.children())
        self.grandchild = self._only(self.child.children())

    def command(self) -> list[str]:
        words = [sys.executable, "-m", "xlabench", "run", "--suite-name", "faulty", "--filter", "^(fine|slow)$"]
        words += ["--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--test", "eval"]
        words += ["--repeat", str(LATE_CALLS), "--processes", "1", "--home", str(self.folder.parent)]
        return [*words, "--output-dirname", str(self.folder), "--no-ingest"]

    def environment(self) -> dict[str, str]:
        found = {"XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
        return {**os.environ, **TERMINAL, **found, HELD_WHERE: str(self.held)}

    def start(self, *words: str) -> None:
        """Fork the command from a process that has torch; tests/faults/test_jobs.py kills whole interpreters."""
        python, dash_m, module, *own = self.command()
        assert (python, dash_m) == (sys.executable, "-m")
        with self.log.open("wb") as sink:
            self.popen = warm.serve(module, [*own, *words], sink, env=self.environment(), imports="torch")
        self.scheduler = psutil.Process(self.popen.pid)

    def again(self) -> str:
        """Run the command once more, to its end."""
        self.held.unlink(missing_ok=True)
        done = self.once_more()
        assert done.returncode == 0, done.stderr
        return done.stderr + done.stdout

    def once_more(self) -> subprocess.CompletedProcess[str]:
        python, dash_m, module, *words = self.command()
        assert (python, dash_m) == (sys.executable, "-m")
        return warm.run(module, words, env=self.environment(), timeout=PATIENCE_S)

    def records(self) -> list[dict]:
        lines = (self.folder / "results.jsonl").read_bytes()
        assert lines.endswith(b"\n")
        return [json.loads(line) for line in lines.splitlines()]

    def run_id(self) -> str:
        return json.loads((self.folder / "run.json").read_text())["run"]["run_id"]

    def _wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.log.read_text():
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.popen.poll() is None, self.log.read_text()
            time.sleep(0.02)

    @staticmethod
    def _only(found: list[psutil.Process]) -> psutil.Process:
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def live(tmp_path: Path):
    run = LiveRun(tmp_path / "run")
    yield run
    run.popen.kill()
    run.popen.wait()
    processes.kill_tagged(run.run_id())


def assert_none_left(live: LiveRun) -> None:
    """No process of the run lives on, stopped ones included."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while left := processes.tagged(live.run_id()):
        assert time.monotonic() < deadline, [process.as_dict(["pid", "cmdline", "status"]) for process in left]
        time.sleep(0.02)


def assert_whole(live: LiveRun, store: Path, statuses: dict[str, str], kills: int = 1) -> None:
    """Each experiment has exactly one result, and no record stands twice."""
    records = live.records()
    assert len({record["record_id"] for record in records}) == len(records)
    ingest([live.folder], store)
    snapshot = current_snapshot(store)
    assert snapshot is not None
    with connect(snapshot) as con:
        rows = con.execute("SELECT model, status FROM results ORDER BY model").fetchall()
    assert rows == sorted(statuses.items())
    assert [record["attempt"] for record in records if record["model"]["model_name"] == "fine"] == [1]
    fault = "kill -9 of a run, its fork server, its benchmark process, or several"
    add_row(fault, kills, "no process remains; what is missing is measured", lost=0, doubled=0)


def stop_the_child(live: LiveRun) -> None:
    for process in (live.grandchild, live.child):
        process.send_signal(signal.SIGSTOP)


def do_nothing(live: LiveRun) -> None:
    """Leave the child running."""


BEFORE: tuple[Callable[[LiveRun], None], ...] = (stop_the_child, do_nothing)
"""What is done before a kill, in turns: a stopped child and its stopped grandchild outlive nobody, either."""


def test_whether_interrupted_or_killed_the_same_command_goes_on(live: LiveRun, tmp_path: Path) -> None:
    """A second run in its folder would double records and is refused; Ctrl-C ends it with code 130 and one sentence.

    Half a record, as a power cut leaves it, is no record and spoils none: it is cut before the next one.
    """
    refuse_a_second(live)
    live.scheduler.send_signal(signal.SIGINT)
    assert live.popen.wait(PATIENCE_S) == 130
    assert "Finished experiments are kept" in live.log.read_text()
    assert "Traceback" not in live.log.read_text()
    assert_none_left(live)
    go_on_and_be_killed(live, stop_the_child)
    with (live.folder / "results.jsonl").open("ab") as results:
        results.write(b'{"model": {"suite_name": "faulty", "model_na')
    assert "already finished: faulty/fine" in live.again()
    assert_whole(live, tmp_path / "store", {"fine": "ok", "slow": "ok"}, 2)


def refuse_a_second(live: LiveRun) -> None:
    """Start the command once more: it says why it does not and exits with 2."""
    second = live.once_more()
    assert second.returncode == 2
    assert "Another process is writing" in second.stderr
    assert live.popen.poll() is None
    assert len(processes.tagged(live.run_id())) == 3


def go_on_and_be_killed(live: LiveRun, before: Callable[[LiveRun], None]) -> None:
    """The unfinished experiment is measured again by the next call; the finished one is not. Kill that call."""
    live.go_on()
    assert "already finished: faulty/fine" in live.log.read_text()
    before(live)
    live.scheduler.kill()
    live.popen.wait()
    assert_none_left(live)
    assert [record["model"]["model_name"] for record in live.records()] == ["fine"]


@pytest.mark.thorough
def test_scheduler_killed(live: LiveRun, tmp_path: Path) -> None:
    """Each time the next call meets what the one before has left."""
    live.scheduler.kill()
    live.popen.wait()
    assert_none_left(live)
    for number in range(1, 5):
        go_on_and_be_killed(live, BEFORE[number % 2])
    assert "already finished: faulty/fine" in live.again()
    assert_whole(live, tmp_path / "store", {"fine": "ok", "slow": "ok"}, 5)


@pytest.mark.thorough
@pytest.mark.parametrize("_", range(5))
def test_fork_server_killed(live: LiveRun, tmp_path: Path, _: int) -> None:
    """The server is started anew and the experiment, which is not to blame, is measured again."""
    live.server.kill()
    live.held.unlink()
    assert live.popen.wait(PATIENCE_S) == 0
    assert_none_left(live)
    assert "Measured 0 experiments" in live.again()
    assert_whole(live, tmp_path / "store", {"fine": "ok", "slow": "ok"})


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1, 2, 5])
def test_child_killed(live: LiveRun, tmp_path: Path, times: int) -> None:
    """A crash is a record with its signal, and counts as finished unless failures are asked for again.

    The short form is a child of two that take turns, in test_kill_interleaved.py.
    """
    for number in range(times):
        if number:
            live.go_on("--retry-failed")
        BEFORE[number % 2](live)
        live.child.kill()
        assert live.popen.wait(PATIENCE_S) == 0
        assert_none_left(live)
        signals = [record["error"]["signal"] for record in live.records() if record["error"]]
        assert signals == [signal.SIGKILL] * (number + 1)
    assert "Measured 0 experiments" in live.again()
    assert_whole(live, tmp_path / "store", {"fine": "ok", "slow": "crashed"}, times)


@pytest.mark.thorough
def test_scheduler_and_server_killed_at_once(live: LiveRun, tmp_path: Path) -> None:
    """Nobody is left to clean up: the next call of the run sweeps what was left behind, and says so."""
    for process in (live.server, live.grandchild):
        process.send_signal(signal.SIGSTOP)
    live.scheduler.kill()
    live.server.kill()
    live.popen.wait()
    # A child that still lives would find the end of its turn, and end what it has started.
    deadline = time.monotonic() + GONE_WITHIN_S
    while processes._alive([live.server, live.child]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert processes._alive([live.grandchild])
    assert "Stopped 1 process that an earlier call" in live.again()
    assert_none_left(live)
    assert_whole(live, tmp_path / "store", {"fine": "ok", "slow": "ok"})
