"""A look is started when there may be something to tell, and not while somebody measures."""

import os
import subprocess

import pytest

from runner.jobs.request import JobRequest
from runner.notices.watch import AGAIN_S, LEFT_TO_ANOTHER, NoticeWatch
from runner.schedule import devices
from store.state import jobs, notices
from store.state.database import opened
from tests.runner.notices.homes import HOUR, NOON, REQUEST, event


class Watched:
    """A watch whose looks leave a line each."""

    def __init__(self, home) -> None:
        self.home = home
        self.lines = home.path / "looks"
        self.store = home.path / "store"
        self.store.mkdir()
        command = ["sh", "-c", f"echo >> {self.lines}"]
        self.watch = NoticeWatch(home.path, self.store, command, clock=lambda: home.now)

    def looks(self, passed_s: float = 0.0) -> int:
        """Let time pass and return how many looks there have been so far."""
        self.home.now += passed_s + AGAIN_S
        self.watch.step()
        if self.watch._running is not None:
            self.watch._running.wait(10)
        return len(self.lines.read_text().splitlines()) if self.lines.exists() else 0

    def publish(self, name: str) -> None:
        (self.store / "CURRENT").write_text(name)
        os.utime(self.store / "CURRENT", (self.home.now, self.home.now))


@pytest.fixture
def watched(home, monkeypatch, tmp_path):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    return Watched(home)


def test_a_home_in_which_nothing_is_costs_no_process(watched):
    assert watched.looks() == 0


def test_a_published_snapshot_is_looked_at_once_and_again_when_its_run_must_be_over(watched):
    watched.publish("index-1")
    assert watched.looks() == 1
    assert watched.looks() == 1
    watched.publish("index-2")
    assert watched.looks() == 2
    assert watched.looks(1.1 * HOUR) == 3
    assert watched.looks(5 * HOUR) == 3


@pytest.fixture
def run():
    """A process that measures on the CPU."""
    held = devices.take(["cpu"], "a run")
    with subprocess.Popen(["sleep", "600"]) as process:
        devices.note(held["cpu"], process.pid, "a run")
        yield process
        process.kill()
    devices.release(held)


def test_a_look_waits_until_nobody_measures(watched, run):
    watched.publish("index-1")
    assert watched.looks() == 0
    run.kill()
    run.wait(10)
    assert watched.looks() == 1


def test_what_a_worker_has_reserved_itself_is_no_measurement(watched):
    held = devices.take(["cpu"], "reserved")
    watched.publish("index-1")
    assert watched.looks() == 1
    devices.release(held)


def test_a_job_that_is_over_is_looked_at_though_the_next_one_measures(watched, run):
    job = watched.home.job_queue.submit(JobRequest(request=REQUEST, label="x"))
    assert watched.looks() == 0
    with opened(watched.home.job_queue.state) as con:
        jobs.change(con, job.job_id, ("queued",), state="done", finished_at=watched.home.now)
    assert watched.looks() == 1


def test_a_time_at_which_a_run_is_missing_or_late_is_looked_at(watched):
    watched.home.schedule()
    assert watched.looks() == 0
    watched.home.now = NOON + 14 * HOUR
    assert watched.looks() == 0
    assert watched.looks(700) == 1, "missing"
    assert watched.looks() == 1
    assert watched.looks(12 * HOUR) == 2, "late"


def test_a_notice_that_is_to_be_sent_again_is_when_its_time_has_come(watched):
    with opened(watched.home.job_queue.state) as con:
        notices.add(con, event(1), ["mail"], watched.home.now + 600)
    assert watched.looks() == 0
    assert watched.looks(600) == 1


def test_what_was_left_to_another_process_is_looked_at_again(watched):
    """The other one may have begun before it came."""
    count, watched.watch.command[2] = watched.watch.command[2], f"{watched.watch.command[2]}; exit {LEFT_TO_ANOTHER}"
    watched.publish("index-1")
    assert watched.looks() == 1
    assert watched.looks() == 2
    watched.watch.command[2] = count
    assert watched.looks() == 3
    assert watched.looks() == 3
