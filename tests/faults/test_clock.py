"""The clock is set while things go on: no process is taken for another, no job killed, no recurring run forgotten."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from types import SimpleNamespace

import psutil
import pytest

from runner import processes
from runner.backends import dynamo
from runner.home.settings_file import Person
from runner.jobs import recurring
from runner.jobs.executor import Alive
from runner.jobs.queue import JobQueue
from runner.jobs.recurring import standings
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.jobs.worker import Worker
from runner.schedule import benchmark_process, devices
from tests.faults.fault_rows import add_row
from tests.runner.jobs.fake_executor import Fake, World

NOON = 1_795_262_400.0
"""2026-11-21 12:00 UTC."""
HOUR, YEAR = 3600.0, 366 * 86_400.0
JUMPS = (-YEAR, -HOUR, -1.0, 1.0, HOUR, YEAR)
REQUEST = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))


@pytest.fixture
def jump(monkeypatch):
    """Set the clock, as far as a test may: the time, and the time of the boot, which the kernel makes of it."""

    def by(seconds):
        now, boot = time.time, psutil.boot_time
        monkeypatch.setattr(time, "time", lambda: now() + seconds)
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: boot() + seconds)

    return by


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_process_stays_the_same(tmp_path, monkeypatch, jump, seconds):
    """It is found by who wants to continue it, by who asks for the worker, and by who takes dead caches away."""
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    monkeypatch.setattr(benchmark_process.tempfile, "tempdir", str(tmp_path))
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        began = processes.start_time(other.pid)
        taken = devices.take(["cpu"], "a measurement")
        mine = benchmark_process.Scratch().path
        jump(seconds)
        assert processes.is_process(other.pid, began)
        assert 0 <= processes.age_s(began) < 60
        assert devices.owner("cpu").pid == os.getpid()
        benchmark_process.sweep()
        assert mine.is_dir()
        devices.release(taken)
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(("frame_s", "found_s"), [(-3600.0, None), (0.5, 0.75)])
def test_a_compile_time_below_zero_is_none(monkeypatch, frame_s, found_s):
    spent = {"entire_frame_compile": frame_s, "entire_backward_compile": 0.25}
    monkeypatch.setattr(dynamo, "_utils", lambda: SimpleNamespace(calculate_time_spent=lambda: spent))
    assert dynamo.compile_time_s() == found_s


@dataclass
class Aged(Fake):
    """An executor that knows how long an attempt has lived."""

    ran_s: float = 10.0

    def poll(self, ticket):
        seen = super().poll(ticket)
        return Alive(pid=os.getpid(), ran_s=self.ran_s) if isinstance(seen, Alive) else seen


class Night:
    """A home whose clock stands still until it is set."""

    def __init__(self, home):
        self.now = NOON
        self.job_queue = JobQueue(home, Person("ann"), clock=lambda: self.now)
        self.executor = Aged(World())
        self.worker = Worker(home, self.executor, clock=lambda: self.now, say=lambda _: None)

    def at(self, now):
        self.now = now
        self.worker.step()

    def states(self):
        return [job.state for job in self.job_queue.listed()]


@pytest.fixture
def night(tmp_path):
    return Night(tmp_path)


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_job_is_ended_for_the_time_that_it_took(night, seconds):
    night.job_queue.submit(JobRequest(request=REQUEST, label="x", timeout_s=1000.0))
    night.at(NOON)
    night.at(NOON + seconds)
    assert night.executor.world.begun == [(1, 1)]
    night.executor.ran_s = 2000.0
    night.at(NOON + seconds + 1)
    assert night.executor.world.begun == [(1, 1), (1, 2)], "killed, lost, and begun once more"


def test_recurring_runs_go_on_after_the_clock_was_ahead(night):
    recurring.add(night.job_queue, "0 2 * * *", JobRequest(request=REQUEST, label="nightly"), 6 * HOUR)
    night.at(NOON + 14 * HOUR)
    night.at(NOON + YEAR)
    recurring.add(night.job_queue, "0 3 * * *", JobRequest(request=REQUEST, label="later"), 6 * HOUR)
    night.at(NOON + 15 * HOUR)
    seen = len(night.states())
    night.at(NOON + 24 * HOUR)
    assert len(night.states()) == seen, "nothing is due"
    night.at(NOON + 39.5 * HOUR)
    assert len(night.states()) == seen + 2
    assert {each.schedule.name: each.due_at for each in standings(night.job_queue)} == {
        "nightly": NOON + 38 * HOUR,
        "later": NOON + 39 * HOUR,
    }
    add_row(
        "clock set by a second to a year while processes, jobs and recurring runs go on", 2 * len(JUMPS) + 1, "none"
    )


def test_nothing_is_begun_twice_when_the_clock_goes_back(night):
    recurring.add(night.job_queue, "0 2 * * *", JobRequest(request=REQUEST, label="nightly"), 6 * HOUR)
    for hours in (14, 13, 14.5, 12, 14, 37, 14):
        night.at(NOON + hours * HOUR)
    [job] = night.job_queue.listed()
    assert night.executor.world.begun == [(job.job_id, 1)]
