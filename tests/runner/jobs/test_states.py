"""Whatever happens in whatever order: no job is lost, none runs twice at once, and its state tells the truth."""

import contextlib
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from runner.home.settings_file import Person
from runner.jobs.folder import End
from runner.jobs.queue import ALIVE, OVER, JobQueue, Refused, outcome
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.jobs.worker import Worker
from store.state import jobs
from store.state.database import opened
from tests.runner.jobs.fake_executor import Crash, Fake, World

WATCH = """
CREATE TABLE moves (before TEXT, after TEXT);
CREATE TRIGGER watch AFTER UPDATE OF state ON jobs WHEN old.state <> new.state
BEGIN INSERT INTO moves VALUES (old.state, new.state); END;
"""
MEMORY = Path("/dev/shm")
"""Where thousands of transactions wait for no disk."""
MOVES = {
    "queued": {"starting", "failed", "cancelled"},
    "starting": {"running", "done", "failed", "cancelled", "lost"},
    "running": {"done", "failed", "cancelled", "lost"},
    "lost": {"queued", "cancelled"},
    "failed": {"queued"},
    "cancelled": {"queued"},
    "done": set(),
}
"""State → the states that may follow."""
ENDS = [End(code=0), End(code=3), End(code=2), End(code=-9), End(code=130), End(code=None, reason="timeout"), None]


class Machine(RuleBasedStateMachine):
    """People, a worker that dies now and then, and attempts that end as they like."""

    submitted = Bundle("submitted")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.now = 1_000_000.0
        home = Path(self.folder.name)
        self.job_queue = JobQueue(home, Person("ann"), clock=lambda: self.now)
        self.world = World()
        self.count = 0
        with opened(self.job_queue.state) as con:
            pass
        with contextlib.closing(sqlite3.connect(self.job_queue.state)) as con:
            con.executescript(WATCH)
        self.start_worker()

    def start_worker(self) -> None:
        self.worker = Worker(
            self.job_queue.home, Fake(self.world), clock=lambda: self.now, say=lambda _: None, host="here"
        )

    @rule(
        target=submitted,
        devices=st.sampled_from([("cpu",), ("cuda",), ("cpu", "cuda"), ()]),
        priority=st.integers(0, 2),
    )
    def submit(self, devices, priority) -> int:
        request = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=devices))
        self.count += 1
        return self.job_queue.submit(JobRequest(request=request, label="x", priority=priority, timeout_s=1000.0)).job_id

    @rule(job_id=submitted)
    def cancel(self, job_id) -> None:
        with contextlib.suppress(Refused):
            self.job_queue.cancel(job_id)

    @rule(job_id=submitted)
    def retry(self, job_id) -> None:
        with contextlib.suppress(Refused):
            self.job_queue.retry(job_id)

    @rule(crash=st.sampled_from(["", "", "before", "after"]))
    def work(self, crash) -> None:
        """The worker does what there is to do, or dies while it starts something; another takes over."""
        self.world.crash = crash
        try:
            self.worker.step()
        except Crash:
            self.start_worker()
        self.world.crash = ""

    @rule()
    def kill_worker(self) -> None:
        self.start_worker()

    @rule(end=st.sampled_from(ENDS), which=st.integers(0, 9))
    def end(self, end, which) -> None:
        """An attempt ends by itself, or is killed and leaves nothing."""
        if self.world.running:
            self.world.end(sorted(self.world.running)[which % len(self.world.running)], end)

    @rule(seconds=st.sampled_from([1.0, 100.0, 5000.0]))
    def wait(self, seconds) -> None:
        self.now += seconds

    @invariant()
    def every_job_is_there_and_moved_as_it_may(self) -> None:
        if not hasattr(self, "job_queue"):
            return
        assert len(self.job_queue.listed()) == self.count
        with opened(self.job_queue.state) as con:
            moves = con.execute("SELECT DISTINCT before, after FROM moves").fetchall()
        assert [(before, after) for before, after in moves if after not in MOVES[before]] == []

    def teardown(self) -> None:
        """Once everything ends well, every job is over within a few steps, and what it says is what happened."""
        if not hasattr(self, "job_queue"):
            return
        for _ in range(4 * self.count + 2):
            self.worker.step()
            for attempt in list(self.world.running):
                self.world.end(attempt, End(code=0))
        found = self.job_queue.listed()
        assert [job for job in found if job.state not in OVER] == []
        for job in found:
            end = self.world.ends.get((job.job_id, job.attempts))
            assert (job.state == "done") == (
                end is not None and end.code in (0, 3) and job.attempts > 0
            ) or job.state == "cancelled"
            assert len([key for key in self.world.begun if key[0] == job.job_id]) <= job.attempts
            assert job.state != "lost" or job.tries_left == 0
        self.folder.cleanup()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize(
    ("end", "cancelled", "state"),
    [
        (End(code=0), False, "done"),
        (End(code=0), True, "done"),
        (End(code=3), False, "done"),
        (End(code=1), False, "failed"),
        (End(code=2), False, "failed"),
        (End(code=-11), False, "lost"),
        (End(code=130), False, "lost"),
        (End(code=130, reason="stopped"), True, "cancelled"),
        (End(code=None, reason="stopped"), True, "cancelled"),
        (End(code=None, reason="timeout"), False, "failed"),
        (None, False, "lost"),
        (None, True, "cancelled"),
    ],
)
def test_only_what_was_interrupted_is_lost(end, cancelled, state):
    """A failed measurement is not tried again by itself."""
    assert outcome(end, cancelled=cancelled)[0] == state


@pytest.fixture
def job_queue(tmp_path) -> JobQueue:
    return JobQueue(tmp_path, Person("ann"))


def worker_of(job_queue: JobQueue, world: World) -> Worker:
    return Worker(job_queue.home, Fake(world), say=lambda _: None)


def submit(job_queue: JobQueue, *devices: str, **given) -> int:
    request = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=devices))
    return job_queue.submit(JobRequest(request=request, label="x", **given)).job_id


def test_a_lost_job_is_tried_as_often_as_the_home_says_and_no_more(job_queue):
    world = World()
    (job_queue.home / "xlabench.toml").write_text("[jobs]\nattempts = 2\n")
    submit(job_queue, "cpu")
    worker = worker_of(job_queue, world)
    for attempt in (1, 2):
        worker.step()
        assert list(world.running) == [(1, attempt)]
        world.end((1, attempt), None)
    worker.step()
    job = job_queue.job(1)
    assert (job.state, job.attempts, job.tries_left) == ("lost", 2, 0)
    assert job_queue.retry(1).tries_left == 2


def test_nobody_is_overtaken_for_ever_on_a_device(job_queue):
    """A job that needs both devices gets them, though jobs behind it need one only."""
    world = World()
    worker = worker_of(job_queue, world)
    for devices in (("cpu",), ("cpu", "cuda"), ("cuda",), ("cpu",)):
        submit(job_queue, *devices)
    worker.step()
    assert set(world.running) == {(1, 1)}
    assert job_queue.job(2).message == "waits"
    world.end((1, 1), End(code=0))
    worker.step()
    assert set(world.running) == {(2, 1)}
    world.end((2, 1), End(code=0))
    worker.step()
    assert set(world.running) == {(3, 1), (4, 1)}


def test_higher_priority_goes_first(job_queue):
    world = World()
    submit(job_queue, "cpu")
    submit(job_queue, "cpu", priority=1)
    worker_of(job_queue, world).step()
    assert set(world.running) == {(2, 1)}


def test_what_does_not_end_when_asked_is_killed(job_queue):
    now = [0.0]
    world = World()
    job_queue = JobQueue(job_queue.home, job_queue.person, clock=lambda: now[0])
    worker = Worker(job_queue.home, Fake(world), clock=lambda: now[0], say=lambda _: None)
    submit(job_queue, "cpu")
    worker.step()
    job_queue.cancel(1)
    worker.step()
    assert world.asked == {(1, 1)}
    assert job_queue.job(1).state == "running"
    now[0] += 26
    worker.step()
    assert job_queue.job(1).state == "cancelled"
    assert world.running == {}


FORGED = {
    "request": ["", "{}", '{"kind":"shell","argv":["id"]}', '{"kind":"run","selection":{"only":["../../etc"]}}'],
    "timeout_s": [-1.0, 9e999],
    "tries_left": [0, -5],
    "attempts": [-3],
    "label": ["a\nb", "\x1b]0;x\x07"],
}


@pytest.mark.parametrize(
    ("column", "value"), [(column, value) for column, values in FORGED.items() for value in values]
)
def test_a_forged_row_is_refused_with_its_reason_and_nothing_is_started(job_queue, column, value):
    world = World()
    submit(job_queue, "cpu")
    with opened(job_queue.state) as con:
        con.execute(f"UPDATE jobs SET {column} = ?", (value,))
    worker_of(job_queue, world).step()
    job = job_queue.job(1)
    assert world.begun == []
    assert (job.state, job.message[:9]) == ("failed", "refused: ")
    assert [(each.action, each.who) for each in job_queue.actions(1)][-1] == ("refused start", "worker")


def test_a_broken_settings_file_starts_nothing_and_loses_nothing(job_queue):
    """What runs is followed; what waits, waits until the file is whole again."""
    world = World()
    said: list[str] = []
    worker = Worker(job_queue.home, Fake(world), say=said.append)
    submit(job_queue, "cpu")
    worker.step()
    submit(job_queue, "cuda")
    (job_queue.home / "xlabench.toml").write_text("[jobs\n")
    world.end((1, 1), End(code=0))
    for _ in range(2):
        worker.step()
    assert [job.state for job in job_queue.listed()] == ["queued", "done"]
    assert len([text for text in said if text.startswith("No job is started: ")]) == 1
    (job_queue.home / "xlabench.toml").unlink()
    worker.step()
    assert job_queue.job(2).state == "running"


def test_a_row_with_bytes_that_are_no_text_hides_no_other(job_queue):
    world = World()
    for _ in range(2):
        submit(job_queue, "cpu")
    with opened(job_queue.state) as con:
        con.execute("UPDATE jobs SET who = CAST(x'ff00fe' AS TEXT), request = CAST(x'ff' AS TEXT) WHERE job_id = 1")
    worker_of(job_queue, world).step()
    assert [job.state for job in job_queue.listed()] == ["running", "failed"]


@pytest.mark.parametrize("state", ALIVE)
def test_a_row_that_says_it_runs_and_does_not_is_lost(job_queue, state):
    """A forged row, or one of a host that is gone: the worker looks, and finds nothing."""
    submit(job_queue, "cpu")
    with opened(job_queue.state) as con:
        jobs.change(con, 1, ("queued",), state=state, attempts=7, tries_left=0, executor="fake", host="elsewhere")
    worker_of(job_queue, World()).step()
    assert job_queue.job(1).state == "lost"
