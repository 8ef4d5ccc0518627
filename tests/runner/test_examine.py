"""Extra processes: one that dies under a profiler is tried once more; verification gets the timed process's results."""

import types
from pathlib import Path

import pytest
from runner_makers import config, settings

from runner.instrument import passes as instrument
from runner.messages import Instrumented, Verified
from runner.schedule import examine
from runner.schedule.outcome import Outcome
from store.record import Error, Verification

DIED = Outcome(status="crashed", error=Error(phase="profile", type="SIGSEGV", message="it died"))


class Job:
    """Answers extra processes in turn, and keeps what they were asked."""

    def __init__(self, folder, *outcomes, results=None, **changes):
        self.folder = self.run_folder = folder
        self.config, self.settings, self.attempt, self.replica = config("eager"), settings(**changes), 1, 0
        self.member = types.SimpleNamespace(twin=False)
        self.caches = types.SimpleNamespace(shared=lambda: "/references")
        self.results_file = results
        self.asked: list = []
        self._outcomes = iter(outcomes)

    def load(self):
        return None

    def log_artifacts(self):
        return []

    def lead_extra(self, name, command, more=None):
        self.asked.append((name, command))
        return next(self._outcomes)


@pytest.fixture
def _one_pass(monkeypatch):
    one = instrument.Pass(name="profile", instruments=("dump_pytorch_profiles",))
    monkeypatch.setattr(instrument, "passes", lambda *_, **__: [one])
    monkeypatch.setattr(instrument, "notes", lambda *_: [])


@pytest.mark.usefixtures("_one_pass")
@pytest.mark.parametrize(("deaths", "asked", "answers"), [(0, 1, 1), (1, 2, 1), (2, 2, 0)])
def test_a_profile_process_that_dies_is_tried_once_more(tmp_path: Path, deaths, asked, answers):
    done = Outcome(status="ok", answer=Instrumented(artifacts=[]))
    job = Job(tmp_path, *[DIED] * deaths, done)
    extras = examine.examine(job, Outcome(status="ok"))
    assert (len(job.asked), len(extras.instrumented)) == (asked, answers)
    assert any("tried once more" in warning for warning in extras.warnings) == (deaths > 0)
    assert any("failed" in warning for warning in extras.warnings) == (deaths > 1)


@pytest.mark.usefixtures("_one_pass")
def test_what_fails_with_a_reason_is_not_tried_again(tmp_path: Path):
    failed = Outcome(status="run_error", error=Error(phase="profile", type="ValueError", message="no"))
    job = Job(tmp_path, failed)
    examine.examine(job, Outcome(status="ok"))
    assert len(job.asked) == 1


def test_verification_gets_the_results_of_the_timed_process_and_nothing_of_them_stays(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(instrument, "passes", lambda *_, **__: [])
    results = tmp_path / "results.pt"
    results.write_bytes(b"")
    right = Outcome(status="ok", answer=Verified(Verification(code="PASS"), {}))
    job = Job(tmp_path, right, right, results=results, verify="with")
    examine.examine(job, Outcome(status="ok"))
    examine.examine(job, Outcome(status="ok"))
    assert [command.timed_results for _, command in job.asked] == [str(results), None]
    assert [command.shared for _, command in job.asked] == ["/references"] * 2
    assert not results.exists()
