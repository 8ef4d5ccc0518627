"""The command line of jobs, as its users type it, over a real worker."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from runner.home.settings_file import Person
from runner.jobs.queue import JobQueue, Owner, owner
from store.state.database import opened
from store.state.jobs import change
from tests.command import index_rows, working, xlabench

SELECTION = ("--suite-name", "dummy", "--only", "dummy_nonzero", "--accelerator", "cpu", "--test", "eval")
ONE = (*SELECTION, "--xla", "None", "--dynamo", "None", "--repeat", "4", "--processes", "1")
PATIENCE_S = 60


def jobs(home: Path, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    return xlabench("jobs", *words, "--home", home, code=code)


def data(home: Path, number: int = 1) -> dict:
    return json.loads(jobs(home, "show", str(number), "--format", "json").stdout)


def test_a_job_names_the_model_that_it_waits_for(tmp_path):
    jobs(tmp_path, "submit", *ONE, "--accelerator-model", "NVIDIA H200")
    assert data(tmp_path)["request"]["accelerator_model"] == "NVIDIA H200"
    assert "model" in jobs(tmp_path, "submit", *ONE, "--accelerator-model", "../x", code=2).stderr
    xlabench("schedule", "add", "nightly", "0 2 * * *", *ONE, "--accelerator-model", "TPU v5e", "--home", tmp_path)


def test_without_a_worker_a_job_waits_and_that_is_said(tmp_path):
    done = jobs(tmp_path, "submit", *ONE, "--who", "ann", "--why", "is it slower?", "--key", "a")
    assert done.stdout == "job 1  queued  dummy  ann\n"
    assert "No worker is running for this home" in done.stderr
    assert jobs(tmp_path, "submit", *ONE, "--key", "a").stdout == done.stdout
    assert jobs(tmp_path, "list").stdout.splitlines()[1].split()[:4] == ["1", "queued", "(position", "1)"]
    assert jobs(tmp_path, "cancel", "1", "--who", "bob").stdout == "job 1  cancelled  dummy  ann\n"
    assert jobs(tmp_path, "retry", "1").stdout == "job 1  queued  dummy  ann\n"
    shown = data(tmp_path)
    assert [(each["action"], each["who"]) for each in shown["actions"]][:2] == [("submit", "ann"), ("cancel", "bob")]
    assert shown["request"]["selection"]["only"] == ["dummy_nonzero"]
    assert jobs(tmp_path, "log", "1").stdout == ""


def test_what_to_do_about_a_job_names_the_home(tmp_path):
    home = tmp_path / "my lab"
    jobs(home, "submit", *ONE)
    with opened(home / "state.sqlite") as con:
        change(con, 1, ("queued",), state="running", attempts=1)
    for words in (("list",), ("show", "1")):
        assert f"start `xlabench worker --home '{home}'` or" in jobs(home, *words).stdout
    assert "start `xlabench worker` or" in data(home)["unfollowed_reason"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("submit", "--suite-name", "dummy", "--only", "nosuch"), "there is no model 'nosuch'"),
        (("submit", "--suite-name", "dummy", "--backend", "inductr"), "--backend inductr: there is no backend of this"),
        (("submit", "--ops-of", "dummy/dumy"), "--ops-of: there is no model 'dummy/dumy'. Did you mean dummy?"),
        (("submit", "--suite-name", "dummy", "--env", "nightly"), "There is no environment nightly"),
        (("submit", "--suite-name", "dummy", "--env", "x=/bin/sh"), "a job can only use environments of xlabench.toml"),
        (("submit", "--suite-name", "dummy", "--torchbench-dir", "/tmp"), "names a file or folder"),
        (("submit", "--suite-name", "dummy", "--cells", "all"), "require --confirm"),
        (
            ("submit", "--confirm", "a", "b", "--suite-name", "dummy"),
            "only --processes and --accelerator may be combined with it",
        ),
        (("submit", "--confirm", "a", "b", "--processes", "2"), "--confirm requires at least 3 processes"),
        (
            ("submit", "--confirm", "", ""),
            "--confirm: '' cannot be the name of a run, an environment or",
        ),
        (("submit", "--confirm", "a", "b", "--run", ""), "--run: '' cannot be the name of a run; see"),
        (("submit", "--suite-name", "dummy", "--timeout", "1e9"), "A job may run for 172800 s at most"),
        (("show", "7"), "There is no job 7"),
        (("log", "7"), "There is no job 7"),
        (("cancel", "7"), "There is no job 7"),
        (("list", "--limit", "0"), "not a whole number of at least 1"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, words, sentence):
    error = jobs(tmp_path, *words, code=2).stderr
    assert sentence in error
    assert error.count("\n") == 1


def test_an_empty_queue_says_so(tmp_path):
    assert jobs(tmp_path, "list").stdout == "There are no jobs.\n"
    assert json.loads(jobs(tmp_path, "list", "--format", "json").stdout) == []


class Worked(NamedTuple):
    """What two workers of one home did, one after the other."""

    home: Path
    second: str
    """What a second worker said beside the first one."""
    followed: subprocess.CompletedProcess[str]
    failed: subprocess.CompletedProcess[str]
    results: list[dict]
    """What is in the store after these two."""
    ended: tuple[int, Owner | None, str]
    """The exit code of the first worker after SIGTERM; the owner, and the state of the running job after that."""
    drained: int
    """The exit code of the second worker after SIGTERM."""


@pytest.fixture(scope="module")
def worked(tmp_path_factory) -> Worked:
    """Four jobs: a plan, a confirmation that cannot be, one that outlives its worker, and one that nobody begins."""
    folder = tmp_path_factory.mktemp("worked")
    home, plan = folder / "home", folder / "plan.yaml"
    plan.write_text(xlabench("plan", *SELECTION, "--xla", "None", "--dynamo", "None", "--format", "yaml").stdout)
    with working(home) as worker:
        second = xlabench("worker", "--home", home, code=2).stderr
        flags = ("--repeat", "4", "--processes", "1", "--label", "a doubt")
        followed = jobs(home, "submit", "--plan", plan, *flags, "--follow")
        failed = jobs(home, "submit", "--confirm", "previous", "latest", "--follow", code=1)
        results = index_rows(home, "SELECT run_id, model, status FROM results")
        jobs(home, "submit", *ONE)
        jobs(home, "submit", *ONE)
        wait_for(home, 3, "running")
        worker.send_signal(signal.SIGTERM)
        code = worker.wait(PATIENCE_S)
    ended = code, owner(home), state(home, 3)
    with working(home, "--drain") as worker:
        worker.send_signal(signal.SIGTERM)
        drained = worker.wait(PATIENCE_S)
    return Worked(home, second, followed, failed, results, ended, drained)


def state(home: Path, number: int) -> str:
    return str(JobQueue(home, Person("a test")).job(number).state)


def wait_for(home: Path, number: int, wanted: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while state(home, number) != wanted:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_a_job_is_a_run_whose_results_are_in_the_store(worked):
    """`--follow` prints what the run prints; a plan's experiments are those of the job.

    A confirmation that cannot be is a failure with its reason.
    """
    assert worked.second.count("\n") == 1
    assert "already has a worker" in worked.second
    assert "Measured 1 experiment " in worked.followed.stdout
    assert "job 1  running  a doubt" in worked.followed.stderr
    assert "job 1  done  a doubt" in worked.followed.stderr
    assert "job 2  failed (exit code 2: xlabench: " in worked.failed.stderr
    job = data(worked.home)
    assert (job["state"], job["exit_code"], job["attempts"]) == ("done", 0, 1)
    assert job["request"]["plan"]["experiments"][0]["config"]["model_name"] == "dummy_nonzero"
    assert worked.results == [{"run_id": job["run_id"], "model": "dummy_nonzero", "status": "ok"}]
    assert "Measured 1 experiment " in jobs(worked.home, "log", "1").stdout


@pytest.mark.slow
def test_sigterm_leaves_jobs_running_and_drain_waits_for_them(worked):
    assert worked.ended == (0, None, "running")
    assert worked.drained == 0
    assert (data(worked.home, 3)["state"], data(worked.home, 4)["state"]) == ("done", "queued")
