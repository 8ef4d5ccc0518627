"""Real processes: an attempt outlives its worker, holds its devices from birth to end, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from runner import processes
from runner.environments import machine
from runner.home.settings_file import SECRETS, Person
from runner.jobs import folder
from runner.jobs.executor import Alive, Ended, Local, Ticket
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.jobs.worker import Worker
from runner.schedule import devices
from store.state.jobs import Job
from tests.tiers import first_of

SLEEP = "import time; print('began', flush=True); time.sleep(600)"
DEAF = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
deaf.send_signal(signal.SIGSTOP)
print("began", flush=True)
time.sleep(600)
"""
PATIENCE_S = 120.0


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))


@pytest.fixture
def job_queue(tmp_path):
    made = JobQueue(tmp_path / "home", Person("ann"))
    yield made
    for path in (made.home / "jobs").glob("*/*"):
        processes.kill_tagged(str(path), tag=folder.VARIABLE)


class LocalSetup:
    """A worker over real processes that execute a script in place of xlabench."""

    def __init__(self, job_queue: JobQueue, script: str, **limits: float) -> None:
        self.job_queue, self.script = job_queue, script
        job_queue.home.mkdir(exist_ok=True)
        lines = [f"{name} = {value}" for name, value in limits.items()]
        (job_queue.home / "xlabench.toml").write_text("\n".join(["[jobs]", *lines]))
        self.worker = self.another_worker()

    def another_worker(self) -> Worker:
        return Worker(
            self.job_queue.home,
            Local(self.job_queue.home, command=(sys.executable, "-c", self.script)),
            say=lambda _: None,
        )

    def submit(self, **given) -> None:
        request = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))
        self.job_queue.submit(JobRequest(request=request, label="x", **given))

    def until(self, state: str, worker: Worker | None = None) -> Job:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            (worker or self.worker).step()
            job = self.job_queue.job(1)
            assert job is not None
            if job.state == state:
                return job
            assert time.monotonic() < deadline, job
            time.sleep(0.02)

    def begun(self, attempt: int = 1) -> Job:
        """Run the worker until the command itself says that it has begun."""
        log = self.place(attempt).log
        deadline = time.monotonic() + PATIENCE_S
        while not (log.exists() and "began" in log.read_text()):
            self.worker.step()
            assert time.monotonic() < deadline, self.job_queue.job(1)
            time.sleep(0.02)
        return self.until("running")

    def place(self, attempt: int = 1) -> folder.AttemptFolder:
        return folder.of(self.job_queue.home, 1, attempt)

    def left(self, attempt: int = 1) -> list[psutil.Process]:
        return processes.tagged(str(self.place(attempt).path), tag=folder.VARIABLE)


def assert_gone(setup: LocalSetup) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while left := setup.left():
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def test_a_job_runs_in_its_own_session_and_says_how_it_ended(job_queue):
    setup = LocalSetup(job_queue, "import sys; print('told', sys.argv[1]); sys.exit(3)")
    setup.submit()
    job = setup.until("done")
    assert (job.exit_code, job.message[:8], job.attempts) == (3, "partial:", 1)
    assert job.spent_s > 0
    assert setup.place().log_tail() == "told carry-out\n"
    assert_gone(setup)


def test_a_job_gets_none_of_the_workers_secrets(job_queue, monkeypatch):
    for name in SECRETS:
        monkeypatch.setenv(name, "s3cret")
    setup = LocalSetup(job_queue, "import os; print([name for name, value in os.environ.items() if 's3cret' in value])")
    setup.submit()
    setup.until("done")
    assert setup.place().log_tail() == "[]\n"


def test_a_command_that_refuses_is_a_failure_with_its_last_line(job_queue):
    setup = LocalSetup(job_queue, "import sys; sys.exit('no such thing')")
    setup.submit()
    assert setup.until("failed").message == "exit code 1: no such thing"


def test_a_worker_that_died_between_start_and_table_has_lost_nothing(job_queue, monkeypatch):
    """The attempt holds its lock from birth: the next worker finds it though no pid was written."""
    setup = LocalSetup(job_queue, SLEEP)
    setup.submit()
    monkeypatch.setattr(setup.worker, "_write_alive", lambda *_: sys.exit("dies here"))
    with pytest.raises(SystemExit):
        setup.worker.step()
    assert job_queue.job(1).state == "starting"
    setup.worker = setup.another_worker()
    job = setup.begun()
    assert job.attempts == 1
    assert processes.is_process(job.pid, job.pid_started_at)
    assert os.getsid(job.pid) == job.pid


def test_the_leading_process_says_who_it_is_before_its_command_begins(tmp_path):
    """However slow the machine: a worker that sees the command at work knows whom to ask to end it."""
    place = folder.AttemptFolder(tmp_path)
    place.make({"argv": ["x"], "cwd": "/", "devices": [], "timeout_s": 1.0, "grace_s": 1.0}, b"{}")
    script = """
import select
import sys
from pathlib import Path
from runner.jobs import folder, shim

def begin(place, order):
    print(place.started() is not None)
    raise OSError("far enough")

shim._start = begin
shim.main(folder.AttemptFolder(Path(sys.argv[1])))
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_worker_that_died_before_the_start_begins_another_attempt(job_queue, monkeypatch):
    setup = LocalSetup(job_queue, SLEEP)
    setup.submit()
    monkeypatch.setattr(setup.worker.executor, "start", lambda *_: sys.exit("dies here"))
    with pytest.raises(SystemExit):
        setup.worker.step()
    assert setup.until("running", setup.another_worker()).attempts == 2


def test_the_devices_are_held_until_the_job_ends_whatever_becomes_of_its_worker(job_queue):
    setup = LocalSetup(job_queue, SLEEP)
    setup.submit()
    job = setup.begun()
    script = "from runner.schedule import devices; print(devices.take(['cpu'], 'other'))"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f"cpu is in use by benchmark process {job.pid}" in other.stdout
    assert "(job 1: x)" in other.stdout
    job_queue.cancel(1)
    setup.until("cancelled", setup.another_worker())
    assert_gone(setup)
    devices.release(devices.take(["cpu"], "other"))


def test_cancel_asks_first(job_queue):
    setup = LocalSetup(
        job_queue, SLEEP.replace("time.sleep(600)", "\ntry: time.sleep(600)\nfinally: print('put away', flush=True)")
    )
    setup.script = setup.script.replace("import time;", "import signal, time; signal.signal(15, lambda *_: exit(130));")
    setup.worker = setup.another_worker()
    setup.submit()
    setup.begun()
    job_queue.cancel(1)
    job = setup.until("cancelled")
    assert job.exit_code == 130
    assert "put away" in setup.place().log_tail()


def test_what_is_deaf_or_stopped_is_killed_after_the_grace(job_queue):
    setup = LocalSetup(job_queue, DEAF, grace_s=0.3)
    setup.submit()
    setup.begun()
    assert len(setup.left()) == 3
    job_queue.cancel(1)
    setup.until("cancelled")
    assert_gone(setup)


def test_a_stopped_leader_is_killed_by_the_worker(job_queue, monkeypatch):
    monkeypatch.setattr("runner.jobs.worker.LATE_S", 0.2)
    setup = LocalSetup(job_queue, DEAF, grace_s=0.2)
    setup.submit()
    job = setup.begun()
    os.kill(job.pid, signal.SIGSTOP)
    job_queue.cancel(1)
    setup.until("cancelled")
    assert_gone(setup)


def test_a_job_whose_time_is_over_fails(job_queue):
    setup = LocalSetup(job_queue, DEAF, grace_s=0.2)
    setup.submit(timeout_s=0.5)
    assert "it reached its time limit" in setup.until("failed").message
    assert_gone(setup)


@pytest.mark.parametrize("victim", first_of(["leader", "command"]))
def test_what_is_killed_is_tried_again_and_leaves_no_process(job_queue, victim):
    setup = LocalSetup(job_queue, DEAF)
    setup.submit()
    job = setup.begun()
    leader = psutil.Process(job.pid)
    (leader if victim == "leader" else leader.children()[0]).kill()
    setup.begun(attempt=2)
    assert setup.left(1) == []
    deadline = time.monotonic() + PATIENCE_S
    while len(setup.left(2)) != 3:  # a process that is just being started has no environment yet
        assert time.monotonic() < deadline, setup.left(2)
        time.sleep(0.02)
    assert job_queue.job(1).message == ""


def test_the_end_wakes_the_worker(job_queue):
    """The leading process's descriptor becomes readable: nobody has to look now and then."""
    go = job_queue.home / "go"
    setup = LocalSetup(
        job_queue, f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)"
    )
    setup.submit()
    setup.worker.step()
    [descriptor] = setup.worker.executor.descriptors()
    go.touch()
    assert processes.wait_readable([descriptor], PATIENCE_S) == [descriptor]
    setup.until("done")
    assert setup.worker.executor.descriptors() == ()


def test_an_attempt_that_ended_while_nobody_looked_is_found(job_queue):
    setup = LocalSetup(job_queue, "pass")
    setup.submit()
    setup.worker.step()
    ticket = Ticket(job_id=1, attempt=1, home=job_queue.home, label="x")
    fresh = Local(job_queue.home)
    deadline = time.monotonic() + PATIENCE_S
    while isinstance(seen := fresh.poll(ticket), Alive):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert isinstance(seen, Ended)
    assert seen.end.code == 0


def test_a_job_waits_for_the_model_that_it_names(job_queue):
    """Which this machine may not have; a job that names the one it has is started."""
    setup = LocalSetup(job_queue, "pass")
    job_request = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)), accelerator_model="Z80")
    job_queue.submit(JobRequest(request=job_request, label="x"))
    setup.worker.step()
    assert job_queue.job(1).message.startswith("waits for a host with Z80: this one has ")
    here = machine.detect().devices["cpu"][0]
    job_queue.submit(JobRequest(request=msgspec.structs.replace(job_request, accelerator_model=here), label="x"))
    setup.worker.step()
    assert job_queue.job(2).attempts == 1


def test_a_run_tells_its_job_where_it_measures(tmp_path: Path, monkeypatch):
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path))
    folder.record_run("abc", tmp_path / "run")
    assert folder.AttemptFolder(tmp_path).measures() == {"run_id": "abc", "folder": str(tmp_path / "run")}
    monkeypatch.delenv(folder.VARIABLE)
    folder.record_run("xyz", tmp_path / "run")
    assert folder.AttemptFolder(tmp_path).measures()["run_id"] == "abc"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"code": "0"}', '{"reason": "ended"}'])
def test_an_end_that_nobody_can_read_is_none(tmp_path, text):
    (tmp_path / folder.END).write_text(text)
    assert folder.AttemptFolder(tmp_path).end() is None
