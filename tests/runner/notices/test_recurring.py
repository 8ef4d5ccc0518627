"""A recurring run that is missing, late or incomplete is told once for each time, and that it is complete again."""

from runner.jobs.folder import End
from runner.jobs.worker import Worker
from store.state import jobs
from store.state.database import opened
from tests.runner.jobs.fake_executor import Fake, World
from tests.runner.notices.homes import HOUR, NOON


def test_a_run_that_nobody_submitted_is_told_once_for_each_time(home):
    home.schedule()
    home.now = NOON + 14 * HOUR + 300
    assert home.look() == []
    home.now = NOON + 15 * HOUR
    assert home.look() == ["notice 1: Recurring run nightly is missing"]
    assert home.look() == []
    home.now += 24 * HOUR
    assert home.look() == ["notice 2: Recurring run nightly is missing"]


def test_a_late_run_that_then_measures_nothing_and_one_that_is_complete(home, monkeypatch):
    home.schedule()
    world = World()
    worker = Worker(home.path, Fake(world), clock=lambda: home.now, say=lambda _: None)
    home.now = NOON + 14 * HOUR + 60
    worker.step()
    home.now = NOON + 14 * HOUR + 12 * HOUR + 60
    assert home.look() == ["notice 1: Recurring run nightly is late"]
    world.end((1, 1), End(code=2))
    worker.step()
    assert home.look() == ["notice 2: Recurring run nightly is missing"]
    from runner.jobs import recurring

    with opened(home.job_queue.state) as con:
        jobs.change(con, 1, ("failed",), state="done", folder=str(home.path / "runs" / "night"), run_id="r")
    (home.path / "runs" / "night").mkdir(parents=True)
    monkeypatch.setattr(recurring, "_progress", lambda *_: (4, (), ("torch 2.9.1",)))
    assert home.look() == ["notice 3: Recovered: recurring run nightly is complete"]
    assert home.look() == []
