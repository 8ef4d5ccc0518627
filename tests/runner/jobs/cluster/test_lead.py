"""The node's side without Ray, in real processes: an order is carried out, and how it ended comes to the place."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.needs import NEEDS_RAY

pytest.importorskip("fsspec", reason=NEEDS_RAY)

from runner import processes
from runner.jobs import folder
from runner.jobs.cluster.ray_api import ORDER, STOP, Measured, Order
from runner.jobs.executor import JobWork
from runner.jobs.folder import End
from runner.jobs.request import Needs, Protocol, RunRequest, Selection
from runner.schedule import devices
from store.remote import SharedFolder
from tests.tiers import first_of

ROOT = Path(__file__).resolve().parents[4]
PATIENCE_S = 120.0
ONE = {"suite_name": ("faulty",), "accelerator": ("cpu",), "xla": (None,), "dynamo": (None,)}
HANGS = RunRequest(selection=Selection(**ONE, only=("step_hangs",)))
FINE = RunRequest(selection=Selection(**ONE, only=("fine",), test=("eval",)), protocol=Protocol(repeat=4, processes=1))
NONSENSE = RunRequest(selection=Selection(suite_name=("nonsense",)))


class Site:
    """A node and the place that it shares with a worker."""

    def __init__(self, folder: Path) -> None:
        self.home, self.shared = folder / "node", folder / "shared"
        self.home.mkdir()
        self.attempt = SharedFolder.of(str(self.shared)).under("attempts/here/1/1")
        self.popen: subprocess.Popen[bytes] | None = None

    def lead(self, request: RunRequest, run: str | None = None, **needs: object) -> None:
        work = JobWork(request=request, run=run, timeout_s=100.0, grace_s=2.0)
        order = Order(origin="here", job_id=1, attempt=1, label="x", needs=Needs(**needs), work=work)
        self.attempt.write(ORDER, msgspec.json.encode(order))
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "runner.jobs.cluster.lead", self.attempt.url],
            cwd=ROOT,
            env={**os.environ, "XLABENCH_HOME": str(self.home), "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE"},
        )

    def end(self) -> End:
        self.popen.wait(PATIENCE_S)
        return msgspec.json.decode(self.attempt.read("end.json"), type=End)

    def log(self) -> str:
        return (self.attempt.read("log") or b"").decode()

    def left(self) -> list:
        return processes.tagged(str(folder.of(self.home / "cluster" / "here", 1, 1).path), tag=folder.VARIABLE)

    def until(self, done, what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, (what, self.log())
            time.sleep(0.05)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    made = Site(tmp_path)
    yield made
    if made.popen is not None:
        made.popen.kill()
        made.popen.wait()
    processes.kill_tagged(str(folder.of(made.home / "cluster" / "here", 1, 1).path), tag=folder.VARIABLE)


def test_a_command_that_refuses_ends_with_its_code_and_its_words(site):
    site.lead(NONSENSE, accelerators=("cpu",))
    assert site.end().code == 2
    assert "nonsense" in site.log()


def test_what_the_node_does_not_have_is_said_and_not_waited_for(site):
    """It was chosen by what its labels say; where they are wrong, the attempt fails with the reason."""
    site.lead(RunRequest(), accelerators=("cpu",), environments=("nightly",))
    assert site.end().code == 2
    assert "waits for the environment nightly" in site.log()


@pytest.mark.slow
def test_it_waits_for_the_device_and_records_come_to_the_shared_place_under_the_name_that_it_tells(site):
    """Somebody measures on the device there when the order comes."""
    held = devices.take(["cpu"], "by hand")
    site.lead(FINE, run="nightly-job1", accelerators=("cpu",))
    site.until(lambda: b"cpu is in use by benchmark process" in (site.attempt.read("waits") or b""), "waiting")
    assert site.attempt.read("end.json") is None
    devices.release(held)
    assert site.end().code == 0
    assert site.attempt.read("waits") == b""
    told = msgspec.json.decode(site.attempt.read("measures.json"), type=Measured)
    [record] = (site.shared / "runs" / "here" / told.name / "results.jsonl").read_text().splitlines()
    assert json.loads(record)["run"]["run_id"] == told.run_id
    assert told.name == f"nightly-job1-{told.run_id[:8]}"


def _is_free():
    taken = devices.take(["cpu"], "another")
    if isinstance(taken, str):
        return False
    devices.release(taken)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("sign", first_of(["run.json", "attempt-1-timed*.log"]))
@pytest.mark.parametrize("how", ["asked at the place", "killed"])
def test_it_takes_the_attempt_with_it_and_gives_the_device_back(site, how, sign):
    """As soon as the run has begun, which needs no torch, and while a model hangs."""
    site.lead(HANGS, run="hangs", accelerators=("cpu",))
    site.until(lambda: any(site.home.rglob(sign)), "measuring")
    assert site.left()
    if how == "killed":
        site.popen.kill()
    else:
        site.attempt.write(STOP, b"")
        assert site.end().reason == "stopped"
    site.until(lambda: not site.left(), "nothing left")
    site.until(_is_free, "the device")  # its lock goes with the last descriptor of a process that is dying


def test_it_measures_in_the_environment_in_which_the_node_was_started(tmp_path):
    """Ray sets OMP_NUM_THREADS=1 for its workers, and which device is whose; only the second is meant for us."""
    inner = "from runner.jobs.cluster.lead import restore_environment as r; import os; r(); print(dict(os.environ))"
    middle = (
        "import os, subprocess, sys;"
        "os.environ.update(OMP_NUM_THREADS='1', CUDA_VISIBLE_DEVICES='3', RAY_JOB='x', LATER='y');"
        f"subprocess.run([sys.executable, '-c', {inner!r}])"
    )
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {middle!r}])"
    own = {**os.environ, "PYTHONPATH": str(ROOT), "MINE": "z", "CUDA_VISIBLE_DEVICES": "0,1,2,3"}
    own.pop("OMP_NUM_THREADS", None)
    raylet = tmp_path / "raylet"
    raylet.symlink_to(Path(sys.executable).resolve())
    outer = outer.replace("sys.executable", repr(sys.executable))
    done = subprocess.run([raylet, "-c", outer], env=own, capture_output=True, text=True, check=True)
    assert "'MINE': 'z'" in done.stdout
    assert "'CUDA_VISIBLE_DEVICES': '3'" in done.stdout
    assert "OMP_NUM_THREADS" not in done.stdout
    assert "RAY_JOB" not in done.stdout
    assert "LATER" not in done.stdout
