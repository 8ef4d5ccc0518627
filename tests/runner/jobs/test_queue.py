"""Submitting, cancelling and retrying: one job for a double click, limits, and everything kept with name and time."""

from pathlib import Path

import pytest

from runner.home.settings_file import Access, Person
from runner.jobs.queue import JobQueue, Refused
from runner.jobs.request import ConfirmRequest, JobRequest, RunRequest, Selection
from store.state import jobs
from store.state.database import opened

DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))
ANN = Person("ann")


@pytest.fixture
def job_queue(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path, ANN)


def job_request(request=DUMMY, **given) -> JobRequest:
    return JobRequest(request=request, label="doubt", **given)


def test_a_job_is_queued_with_who_asked_and_why(job_queue):
    """The request is kept as it was asked for."""
    job = job_queue.submit(job_request(why="vgg16 looks slower", priority=3))
    assert (job.job_id, job.state, job.who, job.why, job.priority) == (1, "queued", "ann", "vgg16 looks slower", 3)
    assert job_queue.job(1) == job
    assert [(each.action, each.who) for each in job_queue.actions(1)] == [("submit", "ann")]


def test_the_same_key_is_the_same_job(job_queue):
    """A double click is one job."""
    first, second = job_queue.submit(job_request(key="click-1")), job_queue.submit(job_request(key="click-1"))
    assert first == second
    assert job_queue.submit(job_request(key="click-2")).job_id == 2
    assert job_queue.submit(job_request()) != job_queue.submit(job_request())


def test_the_key_of_another_request_is_refused(job_queue):
    """The new request was answered with the old job, and never measured."""
    job_queue.submit(job_request(key="nightly"))
    other = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",), test=("eval",)))
    with pytest.raises(Refused, match="The key 'nightly' is that of job 1, which requests something else"):
        job_queue.submit(job_request(other, key="nightly"))
    assert job_queue.job(2) is None


def test_a_waiting_job_is_cancelled_at_once_and_can_be_retried(job_queue):
    job_queue.submit(job_request())
    assert job_queue.cancel(1).state == "cancelled"
    with pytest.raises(Refused, match="Job 1 is cancelled; there is nothing to cancel"):
        job_queue.cancel(1)
    assert job_queue.retry(1).state == "queued"
    assert [each.action for each in job_queue.actions(1)] == ["submit", "cancel", "refused cancel", "retry"]


def test_a_running_job_is_marked_for_its_worker(job_queue):
    job_queue.submit(job_request())
    with opened(job_queue.state) as con:
        jobs.change(con, 1, ("queued",), state="running", started_at=job_queue.clock())
    job = job_queue.cancel(1)
    assert job.state == "running"
    assert job.cancel_wanted_at is not None
    with pytest.raises(Refused, match="Job 1 is running"):
        job_queue.retry(1)


def test_what_is_not_there_is_refused(job_queue):
    with pytest.raises(Refused, match="There is no job 7"):
        job_queue.cancel(7)


def test_waiting_jobs_have_a_place_by_priority(job_queue):
    for priority in (0, 5, 0):
        job_queue.submit(job_request(priority=priority))
    assert job_queue.positions() == {2: 1, 1: 2, 3: 3}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("queue = 1", "The queue is full \\(1 jobs\\)"),
        ("queue_per_person = 1", "ann already has 1 jobs in the queue"),
        ("request_bytes = 20", "request_bytes allows 20"),
        ("longest_timeout_s = 10.0", "A job may run for 10 s at most, not 21600"),
    ],
)
def test_limits_of_the_home_refuse(job_queue, settings, sentence):
    job_queue.submit(job_request())
    (job_queue.home / "xlabench.toml").write_text(f"[jobs]\n{settings}\n")
    with pytest.raises(Refused, match=sentence):
        job_queue.submit(job_request())
    assert [each.action for each in job_queue.actions()] == ["submit", "refused submit"]


def test_the_hours_of_a_person_are_counted_over_a_day(tmp_path):
    now = [1_000_000.0]
    job_queue = JobQueue(tmp_path, ANN, clock=lambda: now[0])
    (tmp_path / "xlabench.toml").write_text("[jobs]\nhours_per_person = 1.0\n")
    job_queue.submit(job_request())
    with opened(job_queue.state) as con:
        jobs.change(con, 1, ("queued",), state="done", spent_s=3600.0)
    with pytest.raises(Refused, match=r"ann submitted in the last 24 hours have run for 1\.0 hours"):
        job_queue.submit(job_request())
    assert JobQueue(tmp_path, Person("bob"), clock=lambda: now[0]).submit(job_request()).job_id == 2
    now[0] += 90_000
    assert job_queue.submit(job_request()).job_id == 3


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
def test_words_that_cannot_be_shown_are_refused(job_queue, given, sentence):
    with pytest.raises(Refused, match=sentence):
        job_queue.submit(job_request(**given))
    assert job_queue.listed() == []


def test_without_a_right_nothing_happens_and_it_is_kept(tmp_path):
    """Every action takes the right to launch."""
    job_queue = JobQueue(tmp_path, ANN, Access(loopback=False, login=False))
    for do in (lambda: job_queue.submit(job_request()), lambda: job_queue.cancel(1), lambda: job_queue.retry(1)):
        with pytest.raises(Refused, match="Launching is disabled"):
            do()
    assert job_queue.listed() == []
    assert [each.action for each in job_queue.actions()] == ["refused submit", "refused cancel", "refused retry"]


def test_a_confirmation_is_a_request_as_well(job_queue):
    job = job_queue.submit(job_request(ConfirmRequest(old="previous", new="latest", cells="all")))
    assert job.request == '{"kind":"confirm","old":"previous","new":"latest","cells":"all"}'
