"""Submitting, cancelling and retrying: one job for a double click, limits, and everything kept with name and time."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.home.roles import Access, Person
from runner.jobs.job_request import JobRequest
from runner.jobs.queue import JobQueue, Refused
from runner.jobs.request import ConfirmRequest, RunRequest, Selection
from store.state import jobs
from store.state.database import opened

DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))
ANN = Person("ann")


@pytest.fixture
def desk(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path, ANN)


def wish(request=DUMMY, **given) -> JobRequest:
    return JobRequest(request=request, label="doubt", **given)


def test_a_job_is_queued_with_who_asked_and_why(desk):
    """The request is kept as it was asked for."""
    job = desk.submit(wish(why="vgg16 looks slower", priority=3))
    assert (job.job_id, job.state, job.who, job.why, job.priority) == (1, "queued", "ann", "vgg16 looks slower", 3)
    assert desk.job(1) == job
    assert [(each.action, each.who) for each in desk.actions(1)] == [("submit", "ann")]


def test_the_same_key_is_the_same_job(desk):
    """A double click is one job."""
    first, second = desk.submit(wish(key="click-1")), desk.submit(wish(key="click-1"))
    assert first == second
    assert desk.submit(wish(key="click-2")).job_id == 2
    assert desk.submit(wish()) != desk.submit(wish())


def test_a_waiting_job_is_cancelled_at_once_and_can_be_retried(desk):
    desk.submit(wish())
    assert desk.cancel(1).state == "cancelled"
    with pytest.raises(Refused, match="Job 1 is cancelled; there is nothing to cancel"):
        desk.cancel(1)
    assert desk.retry(1).state == "queued"
    assert [each.action for each in desk.actions(1)] == ["submit", "cancel", "refused cancel", "retry"]


def test_a_running_job_is_marked_for_its_worker(desk):
    desk.submit(wish())
    with opened(desk.state) as con:
        jobs.change(con, 1, ("queued",), state="running", started_at=desk.clock())
    job = desk.cancel(1)
    assert job.state == "running"
    assert job.cancel_wanted_at is not None
    with pytest.raises(Refused, match="Job 1 is running"):
        desk.retry(1)


def test_what_is_not_there_is_refused(desk):
    with pytest.raises(Refused, match="There is no job 7"):
        desk.cancel(7)


def test_waiting_jobs_have_a_place_by_priority(desk):
    for priority in (0, 5, 0):
        desk.submit(wish(priority=priority))
    assert desk.positions() == {2: 1, 1: 2, 3: 3}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("queue = 1", "The queue is full \\(1 jobs\\)"),
        ("queue_per_person = 1", "ann already has 1 jobs in the queue"),
        ("request_bytes = 20", "request_bytes allows 20"),
        ("longest_timeout_s = 10.0", "A job may run for 10 s at most, not 21600"),
    ],
)
def test_limits_of_the_home_refuse(desk, settings, sentence):
    desk.submit(wish())
    (desk.home / "xlabench.toml").write_text(f"[jobs]\n{settings}\n")
    with pytest.raises(Refused, match=sentence):
        desk.submit(wish())
    assert [each.action for each in desk.actions()] == ["submit", "refused submit"]


def test_the_hours_of_a_person_are_counted_over_a_day(tmp_path):
    now = [1_000_000.0]
    desk = JobQueue(tmp_path, ANN, clock=lambda: now[0])
    (tmp_path / "xlabench.toml").write_text("[jobs]\nhours_per_person = 1.0\n")
    desk.submit(wish())
    with opened(desk.state) as con:
        jobs.change(con, 1, ("queued",), state="done", spent_s=3600.0)
    with pytest.raises(Refused, match=r"ann submitted in the last 24 hours have run for 1\.0 hours"):
        desk.submit(wish())
    assert JobQueue(tmp_path, Person("bob"), clock=lambda: now[0]).submit(wish()).job_id == 2
    now[0] += 90_000
    assert desk.submit(wish()).job_id == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"why": "x" * 5000}, "The why has 5000 characters"),
        ({"key": "k" * 300}, "The key has 300 characters"),
        ({"why": "\x1b[2J"}, "cannot be displayed"),
        ({"priority": 1000}, "between -100 and 100"),
        ({"timeout_s": float("nan")}, "not nan"),
    ],
)
def test_words_that_cannot_be_shown_are_refused(desk, given, sentence):
    with pytest.raises(Refused, match=sentence):
        desk.submit(wish(**given))
    assert desk.listed() == []


def test_without_a_right_nothing_happens_and_it_is_kept(tmp_path):
    """Every action takes the right to launch."""
    desk = JobQueue(tmp_path, ANN, Access(loopback=False, login=False))
    for do in (lambda: desk.submit(wish()), lambda: desk.cancel(1), lambda: desk.retry(1)):
        with pytest.raises(Refused, match="Launching is disabled"):
            do()
    assert desk.listed() == []
    assert [each.action for each in desk.actions()] == ["refused submit", "refused cancel", "refused retry"]


def test_a_confirmation_is_a_request_as_well(desk):
    job = desk.submit(wish(ConfirmRequest(old="previous", new="latest", cells="all")))
    assert job.request == '{"kind":"confirm","old":"previous","new":"latest","cells":"all"}'
