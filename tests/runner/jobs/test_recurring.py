"""Recurring runs: one job for each time that is due, whoever dies in between; and the truth about the last one."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from runner.home.settings_file import Access, Person
from runner.jobs import recurring
from runner.jobs.check import BadRequest
from runner.jobs.folder import End
from runner.jobs.queue import JobQueue, Refused
from runner.jobs.recurring import standings
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.jobs.worker import Worker
from store.state import jobs, schedules
from store.state.database import opened
from tests.packed import pack_results
from tests.runner.jobs.fake_executor import Fake, World

SMOKE = Path(__file__).resolve().parents[2] / "data/review/runs/smoke"
NOON = 1_795_262_400.0
"""2026-11-21 12:00 UTC."""
HOUR = 3600.0
REQUEST = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))


class Night:
    """A home whose clock stands still until it is moved."""

    def __init__(self, home) -> None:
        self.now = NOON
        self.job_queue = JobQueue(home, Person("ann"), clock=lambda: self.now)
        self.world = World()
        self.start_worker()

    def start_worker(self) -> None:
        self.worker = Worker(self.job_queue.home, Fake(self.world), clock=lambda: self.now, say=lambda _: None)

    def add(self, cron="0 2 * * *", name="nightly", late_after_s=6 * HOUR):
        return recurring.add(self.job_queue, cron, JobRequest(request=REQUEST, label=name), late_after_s)

    def at(self, hours: float) -> None:
        """Move the clock to so many hours after that noon, and let the worker look."""
        self.now = NOON + hours * HOUR
        self.worker.step()

    def labels(self) -> list[tuple[str, str]]:
        return [(job.label, job.state) for job in self.job_queue.listed()]


@pytest.fixture
def night(tmp_path) -> Night:
    return Night(tmp_path)


def test_a_job_is_submitted_once_for_each_time(night):
    """Nothing is due before the first time after it was added."""
    night.add()
    night.at(1)
    assert night.labels() == []
    night.at(14)
    assert night.labels() == [("nightly", "running")]
    night.start_worker()
    night.at(15)
    assert len(night.labels()) == 1
    [job] = night.job_queue.listed()
    assert (job.why, job.who) == ("recurring: 0 2 * * *", "ann")
    night.at(38)
    assert len(night.labels()) == 2


def test_a_worker_that_dies_between_job_and_tick_submits_no_second(night, monkeypatch):
    night.add()
    night.now = NOON + 14 * HOUR
    monkeypatch.setattr(schedules, "write_tick", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        recurring.submit_due(night.job_queue.home, night.job_queue.clock, print)
    monkeypatch.undo()
    night.at(14.1)
    assert len(night.labels()) == 1


def test_of_times_that_were_missed_the_newest_counts(night):
    """After a week without a worker there is one run, not seven."""
    night.add()
    night.at(7 * 24)
    assert len(night.labels()) == 1
    [standing] = standings(night.job_queue)
    assert standing.due_at == NOON + (6 * 24 + 14) * HOUR


def test_what_is_removed_is_due_no_more_and_its_name_is_free(night):
    night.add()
    with pytest.raises(Refused, match="A recurring run nightly already exists"):
        night.add()
    recurring.remove(night.job_queue, "nightly")
    night.at(38)
    assert night.labels() == []
    night.add()
    with pytest.raises(Refused, match="There is no recurring run weekly"):
        recurring.remove(night.job_queue, "weekly")
    actions = [each.action for each in night.job_queue.actions()]
    assert actions == ["schedule", "refused schedule", "unschedule", "schedule", "refused unschedule"]


@pytest.mark.parametrize(
    "cron", ["", "every night", "0 25 * * *", "* * * * * *", "0 0 30 2 *", "0 2 * * ;id", "@daily"]
)
def test_what_is_no_expression_is_refused(night, cron):
    with pytest.raises(Refused, match=r"is not a( valid)? cron expression"):
        night.add(cron)


def test_times_are_utc_and_a_time_counts_from_its_own_second_on():
    assert recurring.due_before("0 12 * * *", NOON) == NOON
    assert recurring.due_before("0 12 * * *", NOON - 1) == NOON - 24 * HOUR
    assert recurring.due_after("0 12 * * *", NOON) == NOON + 24 * HOUR
    with pytest.raises(BadRequest):
        recurring.due_before("x", NOON)


def test_without_the_right_to_launch_nothing_recurs(tmp_path):
    job_queue = JobQueue(tmp_path, Person("eve"), Access(loopback=False, login=False))
    with pytest.raises(Refused, match="Launching is disabled"):
        recurring.add(job_queue, "0 2 * * *", JobRequest(request=REQUEST, label="x"), HOUR)


def test_who_has_lost_the_right_launches_no_more(night):
    """The role list of the time when a run is due decides."""
    (night.job_queue.home / "xlabench.toml").write_text('[roles]\nlaunch = ["ann"]\n')
    job_queue = JobQueue(
        night.job_queue.home, Person("ann", verified=True), Access(loopback=False, login=True), night.job_queue.clock
    )
    recurring.add(job_queue, "0 2 * * *", JobRequest(request=REQUEST, label="nightly"), HOUR)
    (night.job_queue.home / "xlabench.toml").write_text('[roles]\nlaunch = ["bob"]\n')
    night.at(14)
    assert night.labels() == []
    [standing] = standings(night.job_queue)
    assert (standing.word, standing.reason[:18]) == ("missing", "ann may not launch")


def word(night: Night) -> str:
    [standing] = standings(night.job_queue)
    return standing.word


def test_the_words_for_how_it_stands(night):
    night.add()
    assert word(night) == "not due"
    night.now = NOON + 14 * HOUR + 60
    assert word(night) == "running"
    night.now = NOON + 15 * HOUR
    assert word(night) == "missing"
    night.at(15)
    assert word(night) == "running"
    night.at(14 + 7)
    assert word(night) == "late"


@pytest.fixture
def measured(night):
    """A night whose run is one that was measured; gives it with the run's folder, to be changed."""
    night.add()
    night.at(14)
    folder = night.job_queue.home / "runs" / "smoke"
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes((SMOKE / "run.json").read_bytes())
    with pa.input_stream(str(SMOKE / "results.jsonl.zst")) as stream:
        (folder / "results.jsonl").write_bytes(stream.read())
    night.world.end((1, 1), End(code=0))
    night.worker.step()
    with opened(night.job_queue.state) as con:
        jobs.change(con, 1, ("done",), folder=str(folder), run_id="smoke")
    return night, folder


def test_a_run_with_all_records_is_complete_and_one_without_says_which_are_missing(measured):
    night, folder = measured
    [whole] = standings(night.job_queue)
    assert (whole.word, whole.unfinished) == ("complete", ())
    assert whole.finished_n == whole.planned_n
    lines = (folder / "results.jsonl").read_text().splitlines()
    pack_results(folder)
    assert standings(night.job_queue) == [whole], "packed meanwhile"
    (folder / "results.jsonl.zst").unlink()
    gone = msgspec.json.decode(lines[0])
    key = gone["experiment_id"]
    kept = [line for line in lines if msgspec.json.decode(line)["experiment_id"] != key]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in kept))
    [standing] = standings(night.job_queue)
    assert (standing.word, standing.finished_n) == ("incomplete", whole.planned_n - 1)
    name = f"{gone['model']['suite_name']}/{gone['model']['model_name']} {gone['experiment']['test']} {gone['variant']}"
    assert standing.unfinished == (name,)
