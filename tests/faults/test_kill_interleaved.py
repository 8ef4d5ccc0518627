"""Whatever is killed while processes take turns: no stopped one stays, no other one suffers."""

import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from runner import processes
from store.ingest import ingest
from store.query import connect, current_snapshot
from tests.faults.faulty_suite import LATE_CALLS
from tests.faults.test_kill import PATIENCE_S, LiveRun, assert_none_left
from tests.tiers import first_of

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ENVIRONMENTS = ("one", "two")
ROUNDS = 6


class LiveGroup(LiveRun):
    """A group of two environments, caught while one process runs and the other one is stopped, grandchild and all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder.parent / "stderr.txt"
        self.held.touch()
        try:
            self.start()
            self.catch()
        except BaseException:
            self.held.unlink()
            self.popen.kill()
            raise

    def command(self) -> list[str]:
        words = [sys.executable, "-m", "xlabench", "run", "--suite-name", "faulty", "--only", "slow"]
        words += ["--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--test", "eval"]
        words += ["--repeat", str(LATE_CALLS), "--rounds", str(ROUNDS), "--processes", "1"]
        words += ["--home", str(self.folder.parent)]
        words += [word for name in ENVIRONMENTS for word in ("--env", f"{name}={sys.executable}")]
        return [*words, "--output-dirname", str(self.folder), "--no-ingest"]

    def catch(self) -> None:
        """Wait until one waits in its turn, however long, for its file to go; remember who is who."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.held.read_text():
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.popen.poll() is None, self.log.read_text()
            time.sleep(0.01)
        children = [child for server in self.scheduler.children() for child in server.children()]
        [self.stopped] = filter(is_stopped, children)
        [self.running] = (child for child in children if not is_stopped(child))
        self.stopped_server, self.running_server = self.stopped.parent(), self.running.parent()
        [grandchild] = self.stopped.children()
        assert is_stopped(grandchild)


def is_stopped(process: psutil.Process) -> bool:
    return process.status() == psutil.STATUS_STOPPED


@pytest.fixture
def live(tmp_path: Path):
    run = LiveGroup(tmp_path / "run")
    yield run
    run.popen.kill()
    run.popen.wait()
    processes.kill_tagged(run.run_id())


def statuses(live: LiveGroup, store: Path) -> dict[str, str]:
    """Return the status of each environment's result; no record stands twice."""
    records = live.records()
    assert len({record["record_id"] for record in records}) == len(records)
    ingest([live.folder], store)
    with connect(current_snapshot(store)) as con:
        return dict(con.execute("SELECT environment, status FROM results").fetchall())


GOOD = dict.fromkeys(ENVIRONMENTS, "ok")


@pytest.mark.thorough
def test_scheduler_killed(live: LiveGroup, tmp_path: Path) -> None:
    """Neither the stopped child nor its stopped grandchild outlives it; the group is measured again as a whole."""
    live.scheduler.kill()
    live.popen.wait()
    assert_none_left(live)
    live.again()
    assert statuses(live, tmp_path / "store") == GOOD


@pytest.mark.thorough
def test_interrupted(live: LiveGroup) -> None:
    live.scheduler.send_signal(signal.SIGINT)
    assert live.popen.wait(PATIENCE_S) == 130
    assert "Traceback" not in live.log.read_text()
    assert_none_left(live)


@pytest.mark.parametrize("which", ["stopped_server", "running_server"])
@pytest.mark.thorough
def test_a_fork_server_killed(live: LiveGroup, tmp_path: Path, which: str) -> None:
    """Its process starts again from its begin; the one of the other server goes on."""
    spared = live.running if which == "stopped_server" else live.stopped
    getattr(live, which).kill()
    live.held.unlink()
    live._wait_for("round 4 of its group")
    assert spared.is_running()
    assert live.popen.wait(PATIENCE_S) == 0
    assert_none_left(live)
    assert statuses(live, tmp_path / "store") == GOOD
    assert {len(set(rounds(each))) for each in live.records()} == {ROUNDS}


def rounds(record: dict) -> list[int]:
    blocks = record["measurement"]["blocks"]
    return [number for number, kind in zip(blocks["round"], blocks["kind"], strict=True) if kind == "steady"]


@pytest.mark.parametrize("which", first_of(["stopped", "running"]))
def test_a_child_killed(live: LiveGroup, tmp_path: Path, which: str) -> None:
    """Also while it is stopped: its record says so, its grandchild goes with it, the other child has all its rounds."""
    getattr(live, which).kill()
    live.held.unlink()
    assert live.popen.wait(PATIENCE_S) == 0
    assert_none_left(live)
    assert sorted(statuses(live, tmp_path / "store").values()) == ["crashed", "ok"]
    bad, good = sorted(live.records(), key=lambda each: each["status"] == "ok")
    assert (bad["error"]["signal"], bad["error"]["phase"]) == (signal.SIGKILL, "measure")
    assert sorted(set(rounds(good))) == list(range(ROUNDS))
    assert rounds(good).count(ROUNDS - 1) == LATE_CALLS // ROUNDS
    assert (good["measurement"]["order"], good["measurement"]["together"]) == ("interleaved", 2)
    assert len(good["measurement"]["blocks"]["rewarm_time"]) >= ROUNDS


@pytest.mark.thorough
def test_scheduler_and_servers_killed_at_once(live: LiveGroup, tmp_path: Path) -> None:
    """Nobody is left to clean up: the next call of the run sweeps what was left behind, and says so."""
    for server in (live.stopped_server, live.running_server):
        server.send_signal(signal.SIGSTOP)
    live.scheduler.kill()
    for server in (live.stopped_server, live.running_server):
        server.kill()
    live.popen.wait()
    assert "that an earlier call" in live.again()
    assert_none_left(live)
    assert statuses(live, tmp_path / "store") == GOOD
