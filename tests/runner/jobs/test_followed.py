"""A job that goes on and that nobody follows: it is lost where nobody can, and said where somebody might."""

from __future__ import annotations

import pytest

import xlabench
from runner.home.roles import Person
from runner.jobs import owners
from runner.jobs.job_request import JobRequest
from runner.jobs.queue import JobQueue
from runner.jobs.request import RunRequest, Selection
from runner.jobs.states import End
from runner.jobs.worker import Worker
from runner.schedule import devices
from store.state import jobs
from store.state.database import opened
from tests.runner.jobs.fake_executor import Fake, World

DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))
KEY = (1, 1)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    return JobQueue(tmp_path / "home", Person("ann"))


@pytest.fixture
def world():
    return World()


def running(desk, executor, **fields):
    """Queue a job and let it have begun by an executor; return its number."""
    number = desk.submit(JobRequest(request=DUMMY, label="x")).job_id
    with opened(desk.state) as con:
        jobs.change(con, number, ("queued",), state="running", attempts=1, executor=executor, **fields)
    return number


def step(desk, world, executor):
    Worker(desk.home, Fake(world, name=executor), say=lambda _: None).step()
    return desk.job(1)


@pytest.mark.parametrize("executor", ["slurm", "", None, "\x1b[2J" + "y" * 1000])
def test_one_of_an_executor_that_no_worker_has_is_lost_with_the_reason_and_begins_again(desk, world, executor):
    running(desk, executor)
    job = step(desk, world, "local")
    assert (job.state, job.attempts, job.executor) == ("running", 2, "local")
    [lost] = [each.detail for each in desk.actions(1) if each.action == "lost"]
    assert lost.startswith("its row names the executor ")
    assert lost.endswith(", which no worker uses, and this machine has no trace of it")
    assert lost.isprintable()
    assert len(lost) < 200


def test_without_tries_it_stays_lost(desk, world):
    running(desk, "slurm", tries_left=0)
    job = step(desk, world, "local")
    assert job.state == "lost"
    assert "the executor 'slurm', which no worker uses" in job.message


def test_one_that_goes_on_here_under_another_name_is_not_run_twice(desk, world):
    running(desk, "slurm")
    world.running[KEY] = frozenset({"cpu"})
    assert step(desk, world, "local").state == "running"
    world.end(KEY, End(code=0))
    assert step(desk, world, "local").state == "done"
    assert world.begun == []


@pytest.mark.parametrize(("own", "others"), [("local", "ray"), ("ray", "local")])
def test_a_worker_leaves_alone_what_another_executor_may_still_carry_out(desk, world, own, others):
    """That worker may only be away: a job that was given to a cluster goes on there."""
    running(desk, others)
    assert step(desk, world, own).state == "running"
    with owners.only_one(desk.home, own):
        assert desk.left_alone(desk.job(1)).startswith("no worker follows it")
    with owners.only_one(desk.home, others):
        assert desk.left_alone(desk.job(1)) == ""


def test_only_what_goes_on_is_followed(desk):
    number = desk.submit(JobRequest(request=DUMMY, label="x")).job_id
    assert desk.left_alone(desk.job(number)) == ""
    with opened(desk.state) as con:
        jobs.change(con, number, ("queued",), state="failed", executor="ray")
    assert desk.left_alone(desk.job(number)) == ""


def test_the_command_line_says_it_with_what_to_do(desk, capsys):
    running(desk, "ray")
    for words in (("list",), ("show", "1"), ("cancel", "1")):
        assert xlabench.main(["jobs", *words, "--home", str(desk.home)]) == 0
        assert (
            "no worker follows it, and it may still be running: start `xlabench worker --executor ray`"
            in capsys.readouterr().out
        )


def test_what_no_cluster_will_ever_end_is_given_up_by_a_second_cancel(desk):
    number = running(desk, "ray")
    assert desk.cancel(number).state == "running"
    job = desk.cancel(number)
    assert (job.state, job.message) == ("cancelled", "abandoned: no worker followed it")
    assert [each.action for each in desk.actions(number)] == ["submit", "cancel", "cancel"]


def test_what_a_clusters_worker_follows_is_its_to_end(desk):
    number = running(desk, "ray")
    with owners.only_one(desk.home, "ray"):
        for _ in range(2):
            assert desk.cancel(number).state == "running"


def test_what_lies_on_this_machine_is_not_given_up(desk):
    number = running(desk, "local")
    for _ in range(2):
        assert desk.cancel(number).state == "running"
