"""Kill -9 of dashboard, worker, leading process, run and fork server, alone and together: no job is lost or doubled.

Six rounds; `make faults` makes it fifty, and holds that a state is told truthfully within ten seconds of the moment
from which on there is a worker to tell it. Elsewhere the machine may be busy with other tests: it is told at all.
"""

import contextlib
import json
import os
import time
from pathlib import Path

import psutil
import pytest

from runner import processes
from runner.home.settings_file import Person
from runner.jobs import folder
from runner.jobs.queue import JobQueue, owner
from runner.jobs.request import JobRequest, Protocol, RunRequest, Selection
from runner.schedule import devices
from store.query import connect, current_snapshot
from store.state.jobs import Job
from tests import warm
from tests.command import free_port
from tests.faults.fault_rows import add_row
from tests.faults.faulty_suite import HELD_WHERE, LATE_CALLS
from tests.faults.test_kill import TERMINAL
from tests.tiers import first_of

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("XLABENCH_JOB_KILLS", "6"))
NAMES = ("leader", "server", "worker", "dashboard", "run")
ALONE = (None, *NAMES)
"""Who is killed before all are; `make test` kills all at once only."""
TRUE_WITHIN_S = float(os.environ.get("XLABENCH_TRUE_WITHIN_S", "120"))
"""`pytest -rP` prints what it took."""
PATIENCE_S = 120.0
WHOLE = "done, each result once"
REQUEST = RunRequest(
    selection=Selection(
        suite_name=("faulty",), only=("fine", "slow"), accelerator=("cpu",), xla=(None,), dynamo=(None,), test=("eval",)
    ),
    protocol=Protocol(repeat=LATE_CALLS, processes=1),
)


class Site:
    """A home with a real dashboard and the worker beside it, and the processes of its one job."""

    def __init__(self, home: Path) -> None:
        self.job_queue = JobQueue(home, Person("ann"))
        self.popen: warm.Started | None = None
        home.mkdir()
        (home / "xlabench.toml").write_text("[jobs]\nattempts = 10\n")
        self.held = home / "held"
        self.held.touch()

    def open(self) -> None:
        self.serve()
        self.job_queue.submit(JobRequest(request=REQUEST, label="kills"))

    def close(self) -> None:
        if self.popen is not None:
            self.popen.terminate()
            self.popen.wait()
        for path in (self.job_queue.home / "jobs").glob("*/*"):
            processes.kill_tagged(str(path), tag=folder.VARIABLE)

    def serve(self) -> None:
        """Fork a dashboard from a process that has its imports; worker, leader and run are whole interpreters."""
        words = ["serve", "--home", self.job_queue.home, "--port", str(free_port())]
        with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - no file of ours
            self.popen = warm.serve("xlabench", words, nothing)
        self.worker()

    def worker(self) -> psutil.Process:
        """Return the home's worker; there is always one soon."""
        until(lambda: owner(self.job_queue.home) is not None, "a worker", PATIENCE_S)  # a server is being started
        return psutil.Process(owner(self.job_queue.home).pid)

    def job(self) -> Job:
        job = self.job_queue.job(1)
        assert job is not None
        return job

    def place(self, attempt: int) -> folder.AttemptFolder:
        return folder.of(self.job_queue.home, 1, attempt)

    def measuring(self, attempt: int) -> dict[str, psutil.Process]:
        """Wait until the attempt measures the slow model; return its processes by their names."""
        log = self.place(attempt).log
        until(lambda: log.exists() and "slow eval eager on cpu: measuring" in log.read_text(), "measuring", PATIENCE_S)
        until(lambda: self.job().state == "running" and self.job().pid, "running")
        leader = psutil.Process(self.job().pid)
        [run] = leader.children()
        [server] = run.children()
        dashboard = psutil.Process(self.popen.pid)
        return {"dashboard": dashboard, "worker": self.worker(), "leader": leader, "run": run, "server": server}

    def kill(self, found: dict[str, psutil.Process], *names: str) -> None:
        for name in names:
            with contextlib.suppress(psutil.NoSuchProcess):  # a worker ends with its dashboard
                found[name].kill()
        if "worker" in names:  # what is dying still counts as the home's worker
            until(lambda: (known := owner(self.job_queue.home)) is None or known.pid != found["worker"].pid, "a death")
        if "dashboard" in names:
            self.popen.wait()
            self.serve()


def until(done, what: str, patience_s: float = TRUE_WITHIN_S) -> None:
    began = time.monotonic()
    while not done():
        assert time.monotonic() < began + patience_s, what
        time.sleep(0.02)
    print(f"{what}: after {time.monotonic() - began:.2f} s")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    monkeypatch.setenv("XLABENCH_SUITES", "tests.faults.faulty_suite:SUITE")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name, value in TERMINAL.items():  # the live line tells when the slow model is measured
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(HELD_WHERE, str(tmp_path / "home" / "held"))  # a run must not end before its kill
    made = Site(tmp_path / "home")
    try:
        made.open()
        yield made
    finally:  # a server that did not start in time is ended, too
        made.close()


def tagged(site: Site) -> dict[int, list[psutil.Process]]:
    """Return the living processes of each attempt."""
    attempts = range(1, site.job().attempts + 1)
    return {n: processes.tagged(str(site.place(n).path), tag=folder.VARIABLE) for n in attempts}


@pytest.mark.parametrize("number", first_of(range(ROUNDS)))
def test_kills(site: Site, number: int) -> None:
    """One process or none is killed alone, then all at once: the job ends done, with each result once."""
    victim = ALONE[number % len(ALONE)]
    found = site.measuring(1)
    if victim:
        site.kill(found, victim)
    survives = victim not in ("leader", "run")
    attempt = 1 if survives else 2
    until(lambda: (site.job().state, site.job().attempts) == ("running", attempt), "the truth about the state")
    if survives:
        assert found["leader"].is_running()
    else:
        found = site.measuring(2)
    alive = tagged(site)
    assert [n for n, members in alive.items() if members] == [attempt]

    found = {**found, "dashboard": psutil.Process(site.popen.pid), "worker": site.worker()}
    # A run whose server was killed has started another one, or is about to.
    site.kill(found, *(name for name in NAMES if (name, victim) != ("server", "server")))
    until(lambda: site.job().attempts == attempt + 1 and site.job().state == "running", "another attempt")
    site.held.unlink()
    until(lambda: site.job().state == "done", "the end", PATIENCE_S)
    assert_whole(site)
    first = f"{victim}, then of " if victim else ""
    fault = f"kill -9 of {first}all processes of a job, of its worker and of the dashboard"
    add_row(fault, 1, WHOLE, lost=0, doubled=0)


def assert_whole(site: Site) -> None:
    """Nothing runs, no device is held, one run holds each result once, and it is in the store."""
    until(lambda: not any(tagged(site).values()), "no orphan")
    taken = devices.take(["cpu"], "test")
    assert not isinstance(taken, str), taken
    devices.release(taken)
    [run] = (site.job_queue.home / "runs").iterdir()
    assert str(run) == site.job().folder
    records = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len({record["record_id"] for record in records}) == len(records)
    snapshot = current_snapshot(site.job_queue.home / "store")
    assert snapshot is not None
    with connect(snapshot) as con:
        rows = con.execute("SELECT model, status FROM results ORDER BY model").fetchall()
    assert rows == [("fine", "ok"), ("slow", "ok")]
    assert site.job().run_id == records[0]["run"]["run_id"]
