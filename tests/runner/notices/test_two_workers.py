"""A local worker and one of a cluster share a home, and each starts looks: an event is sent once."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from runner.jobs.request import JobRequest
from runner.jobs.worker import TICK_S
from runner.notices.scan import ALONE
from runner.notices.watch import LEFT_TO_ANOTHER
from store.state import jobs, notices
from store.state.database import opened
from tests import warm
from tests.needs import NEEDS_RAY
from tests.runner.notices.homes import REQUEST, event

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120.0
EVENTS_N = 30
LOOK = ["notices", "look", "--home"]
LOOKS = f"import sys, xlabench\nwhile xlabench.main([*{LOOK!r}, sys.argv[1]]) in (0, {LEFT_TO_ANOTHER}): pass"
"""Looks without end, without a pause."""


def started(log: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=log.open("w"))


def looker(log: Path, home: Path) -> warm.Started:
    with log.open("wb") as said:
        return warm.serve("-c", [LOOKS, home], said, imports=None)


def until(done, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def happen(home, numbers: range) -> None:
    """Have events that are to be sent."""
    with opened(home.job_queue.state) as con:
        for number in numbers:
            assert notices.add(con, event(number), ("webhook",), 0.0)


def sent(home) -> bool:
    return set(home.states().get("webhook", ["pending"])) == {"sent"}


def ids(hooks) -> list[str]:
    """Return the events that came, each as often as it came."""
    return [one["id"] for message in hooks.taken for one in message["events"]]


@pytest.fixture
def webhook_home(home, hooks, monkeypatch, tmp_path):
    """A home with a table, and a webhook that it tells."""
    monkeypatch.setenv("XLABENCH_LOCKS", str(tmp_path / "locks"))
    home.settings(f'[notices.webhook]\nurl = "{hooks.url}"\n')
    return home


@pytest.mark.slow
def test_two_processes_that_look_all_the_time_send_each_event_once(webhook_home, hooks, tmp_path):
    """Alone and in floods: events come while both look, and both send."""
    webhook_home.job_queue.submit(JobRequest(request=REQUEST, label="x"))
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    lookers = [looker(log, webhook_home.path) for log in logs]
    events_n, deadline = 0, time.monotonic() + PATIENCE_S
    try:
        while events_n < EVENTS_N or not all("sent by webhook" in log.read_text() for log in logs):
            assert time.monotonic() < deadline, "both have sent some"  # nothing makes them take turns
            happen(webhook_home, range(events_n, events_n + 2))
            until(lambda: sent(webhook_home), "sent alone")
            happen(webhook_home, range(events_n + 2, events_n + 2 * ALONE))
            until(lambda: sent(webhook_home), "sent")
            events_n += 2 * ALONE
    finally:
        for each in lookers:
            each.kill()
            each.wait(PATIENCE_S)
    said = [log.read_text() for log in logs]
    assert any("Another process is already checking" in text for text in said), "they have met"
    assert len(ids(hooks)) == len(set(ids(hooks))) == events_n


@pytest.mark.thorough
@pytest.mark.slow
def test_a_local_worker_and_a_rays_send_an_event_once(webhook_home, hooks, tmp_path):
    pytest.importorskip("ray", reason=NEEDS_RAY)
    pytest.importorskip("fsspec", reason=NEEDS_RAY)
    hooks.pause_s = 2 * TICK_S  # so that one is still at it when the other looks
    job = webhook_home.job_queue.submit(JobRequest(request=REQUEST, label="x"))
    webhook_home.job_queue.cancel(job.job_id)
    with opened(webhook_home.job_queue.state) as con:
        jobs.change(con, job.job_id, ("cancelled",), finished_at=None)
    ray = ("--executor=ray", "--address=http://127.0.0.1:1", f"--shared={tmp_path / 'shared'}")
    logs = [tmp_path / "local.log", tmp_path / "ray.log"]
    each_words = zip(logs, ((), ray), strict=True)
    workers = [
        started(log, "-m", "xlabench", "worker", f"--home={webhook_home.path}", *words) for log, words in each_words
    ]
    try:
        until(lambda: all("waiting for jobs" in log.read_text() for log in logs), "two workers")
        with opened(webhook_home.job_queue.state) as con:
            assert notices.add(con, event(1), ["webhook"], 0.0)
            jobs.change(con, job.job_id, ("cancelled",), finished_at=webhook_home.now)  # which makes both look
        both_have_looked([psutil.Process(each.pid) for each in workers])
        assert webhook_home.states() == {"webhook": ["sent"]}
        assert len(ids(hooks)) == 1
    finally:
        for each in workers:
            each.terminate()
            each.wait(PATIENCE_S)


def both_have_looked(workers: list[psutil.Process]) -> None:
    """Wait until each has started a look and both are over."""
    begun: set[int] = set()

    def over() -> bool:
        found = {worker.pid: worker.children() for worker in workers}
        begun.update(pid for pid, looks in found.items() if looks)
        return len(begun) == len(workers) and not any(is_alive(look) for looks in found.values() for look in looks)

    until(over, "both have looked")


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
