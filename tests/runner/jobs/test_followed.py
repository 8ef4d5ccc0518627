"""A job that goes on and that nobody follows: it is lost where nobody can, and said where somebody might."""

import pytest

import xlabench
from runner.home.settings_file import Person
from runner.jobs import queue
from runner.jobs.folder import End
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.jobs.worker import Worker
from runner.schedule import devices
from store.state import jobs
from store.state.database import opened
from tests.runner.jobs.fake_executor import Fake, World

DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))
KEY = (1, 1)


@pytest.fixture
def job_queue(tmp_path, monkeypatch):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    return JobQueue(tmp_path / "home", Person("ann"))


@pytest.fixture
def world():
    return World()


def running(job_queue, executor, **fields):
    """Queue a job and let it have begun by an executor; return its number."""
    number = job_queue.submit(JobRequest(request=DUMMY, label="x")).job_id
    with opened(job_queue.state) as con:
        jobs.change(con, number, ("queued",), state="running", attempts=1, executor=executor, **fields)
    return number


def step(job_queue, world, executor):
    Worker(job_queue.home, Fake(world, name=executor), say=lambda _: None).step()
    return job_queue.job(1)


@pytest.mark.parametrize("executor", ["slurm", "", None, "\x1b[2J" + "y" * 1000])
def test_one_of_an_executor_that_no_worker_has_is_lost_with_the_reason_and_begins_again(job_queue, world, executor):
    running(job_queue, executor)
    job = step(job_queue, world, "local")
    assert (job.state, job.attempts, job.executor) == ("running", 2, "local")
    [lost] = [each.detail for each in job_queue.actions(1) if each.action == "lost"]
    assert lost.startswith("its row names the executor ")
    assert lost.endswith(", which no worker uses, and this machine has no trace of it")
    assert lost.isprintable()
    assert len(lost) < 200


def test_without_tries_it_stays_lost(job_queue, world):
    running(job_queue, "slurm", tries_left=0)
    job = step(job_queue, world, "local")
    assert job.state == "lost"
    assert "the executor 'slurm', which no worker uses" in job.message


def test_one_that_goes_on_here_under_another_name_is_not_run_twice(job_queue, world):
    running(job_queue, "slurm")
    world.running[KEY] = frozenset({"cpu"})
    assert step(job_queue, world, "local").state == "running"
    world.end(KEY, End(code=0))
    assert step(job_queue, world, "local").state == "done"
    assert world.begun == []


@pytest.mark.parametrize(("own", "others"), [("local", "ray"), ("ray", "local")])
def test_a_worker_leaves_alone_what_another_executor_may_still_carry_out(job_queue, world, own, others):
    """That worker may only be away: a job that was given to a cluster goes on there."""
    running(job_queue, others)
    assert step(job_queue, world, own).state == "running"
    with queue.only_one(job_queue.home, own):
        assert job_queue.unfollowed_reason(job_queue.job(1)).startswith("no worker follows it")
    with queue.only_one(job_queue.home, others):
        assert job_queue.unfollowed_reason(job_queue.job(1)) == ""


def test_only_what_goes_on_is_followed(job_queue):
    number = job_queue.submit(JobRequest(request=DUMMY, label="x")).job_id
    assert job_queue.unfollowed_reason(job_queue.job(number)) == ""
    with opened(job_queue.state) as con:
        jobs.change(con, number, ("queued",), state="failed", executor="ray")
    assert job_queue.unfollowed_reason(job_queue.job(number)) == ""


def test_the_command_line_says_it_with_what_to_do(job_queue, capsys):
    running(job_queue, "ray")
    for words in (("list",), ("show", "1"), ("cancel", "1")):
        assert xlabench.main(["jobs", *words, "--home", str(job_queue.home)]) == 0
        assert (
            "no worker follows it, and it may still be running: "
            f"start `xlabench worker --home {job_queue.home} --executor ray`" in capsys.readouterr().out
        )


def test_what_no_cluster_will_ever_end_is_given_up_by_a_second_cancel(job_queue):
    number = running(job_queue, "ray")
    assert job_queue.cancel(number).state == "running"
    job = job_queue.cancel(number)
    assert (job.state, job.message) == ("cancelled", "abandoned: no worker followed it")
    assert [each.action for each in job_queue.actions(number)] == ["submit", "cancel", "cancel"]


def test_what_a_clusters_worker_follows_is_its_to_end(job_queue):
    number = running(job_queue, "ray")
    with queue.only_one(job_queue.home, "ray"):
        for _ in range(2):
            assert job_queue.cancel(number).state == "running"


def test_what_lies_on_this_machine_is_not_given_up(job_queue):
    number = running(job_queue, "local")
    for _ in range(2):
        assert job_queue.cancel(number).state == "running"
