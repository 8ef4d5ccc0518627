"""When a run takes timing proofs, which results they refuse, and what is kept; the pool is a fake."""

import io
import itertools
import json
import sys
import types

import pytest
from runner_makers import ENVIRONMENT, entry, facts, settings
from test_scheduler import GOOD, FakePool

from runner.environments import machine
from runner.environments.others import Taken
from runner.messages import Failed, Prove, Proved
from runner.proof import judge
from runner.proof.judge import RULE
from runner.schedule.examine import Proofs
from runner.schedule.groups import Group, Member
from runner.schedule.progress import ProgressView
from runner.schedule.scheduler import Scheduler
from store.record import Error, Proof

LATE = "the last output is not there for another 3 ms"


def proved(verdict="passed", reason=None, **more):
    return (Proved(Proof(verdict=verdict, reason=reason, rule=RULE, taken_at=1e9, **more)),)


FAILED = proved("failed", LATE, outputs_equal=True)


@pytest.fixture(autouse=True)
def _nobody_else(monkeypatch):
    """Another worker of the tests is no other program that a proof would wait for."""
    from runner.environments.others import Others, Taken

    monkeypatch.setattr(Others, "look", lambda self: Taken(cpus=0.0, steal_share=0.0, throttled_s=0.0))


@pytest.fixture
def measure(tmp_path):
    """Measure eager with a pool; return the records."""

    def run(pool, *entries, folder=tmp_path / "proofs", **chosen):
        entries, written = entries or (entry(),), []
        chosen = settings(**{"interleave": "off", "rounds": 1, "prove": "once", "quiet": False, **chosen})
        Scheduler(
            facts={"default": facts(settings=chosen)},
            pools={"default": pool},
            folder=tmp_path,
            write=written.append,
            progress=ProgressView(stream=io.StringIO(), members=[Member(each) for each in entries]),
            proofs=Proofs(folder=folder),
        ).measure(Group(name="g", entries=tuple(entries), attempt=1))
        return written

    return run


def used(pool, cpus):
    """Have others use so many CPUs each time somebody looks."""
    looks = iter(cpus)
    look = lambda: Taken(cpus=next(looks), steal_share=0.0, throttled_s=0.0)  # noqa: E731 - one line
    pool.quiet.others = types.SimpleNamespace(look=look, root=1)


def questions(pool):
    return sum(isinstance(each, Prove) for each in pool.asked)


def test_a_backend_is_proved_once_for_all_its_results(measure):
    pool = FakePool(GOOD, proved(), GOOD, GOOD)
    records = measure(pool, processes=3)
    assert [(each.status, each.proof.verdict) for each in records] == [("ok", "passed")] * 3
    assert questions(pool) == 1


def test_a_failed_proof_refuses_the_result_with_its_reason(measure):
    """Its samples stay in the record; no further process of it is measured."""
    [record] = measure(FakePool(GOOD, FAILED, FAILED), processes=3)
    assert (record.status, record.error.type) == ("invalid", "TimingProof")
    assert record.error.message == f"the timing proof of this backend failed: {LATE}; `--prove` repeats the proof"
    assert record.metrics["total_time"] == GOOD[-1].metrics["total_time"]
    assert record.proof.reason == LATE


def test_times_have_to_be_wrong_twice(measure):
    pool = FakePool(GOOD, FAILED, proved())
    [record] = measure(pool)
    assert (record.status, record.proof.verdict, questions(pool)) == ("ok", "passed", 2)


@pytest.mark.parametrize(("answers", "status"), [([proved()], "ok"), ([FAILED, FAILED], "invalid")])
def test_a_kept_proof_holds_for_later_runs_until_it_is_repeated(measure, answers, status):
    measure(FakePool(GOOD, *answers))
    later = FakePool(GOOD)
    assert [each.status for each in measure(later)] == [status]
    assert questions(later) == 0
    again = FakePool(GOOD, proved())
    assert [each.status for each in measure(again, prove="again")] == ["ok"]
    assert [each.status for each in measure(FakePool(GOOD))] == ["ok"]


def test_an_edited_backend_of_ones_own_is_proved_again(measure, tmp_path, monkeypatch):
    """A package adds it to dynamo; neither its name nor the version of torch tells that its source has changed."""
    source, described = tmp_path / "own_backend.py", tmp_path / "own_backend-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: own-backend\nVersion: 1\n")
    (described / "entry_points.txt").write_text("[torch_dynamo_backends]\nown = own_backend:compile\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    asked = []
    for text in ("one = 1", "one = 1", "two = 2"):
        source.write_text(text)
        machine._answer.cache_clear()  # each is a command of its own
        pool = FakePool(GOOD, proved())
        measure(pool, entry(dynamo="own"))
        asked.append(questions(pool))
    stored = judge.read_proofs(tmp_path / "proofs")
    sources = machine.dynamo_sources(sys.executable)
    machine._answer.cache_clear()
    assert asked == [1, 0, 1]
    assert sorted(judge.proof_holds(proof, ENVIRONMENT, sources) for proof in stored) == [False, True]


def test_the_source_of_a_backend_is_all_of_its_package_whatever_others_lack(tmp_path, monkeypatch):
    """The file of the entry point may only call another, and no package is imported to find that out."""
    package, described = tmp_path / "own_backend", tmp_path / "own_backend-1.dist-info"
    package.mkdir()
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: own-backend\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\naway = is_not_there:compile\nown = own_backend.entry:compile\n"
    )
    for name, text in (("__init__", "raise SystemExit"), ("entry", "from own_backend.work import compile")):
        (package / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    hashes = []
    for text in ("one = 1", "one = 1", "two = 2"):
        (package / "work.py").write_text(text)
        machine._answer.cache_clear()
        hashes.append(machine.dynamo_sources(sys.executable).get("own"))
    machine._answer.cache_clear()
    assert hashes[0] == hashes[1] != hashes[2]
    assert None not in hashes


def test_what_is_unknown_refuses_nothing_and_is_tried_again(measure, tmp_path):
    for _ in range(2):
        pool = FakePool(GOOD, proved("unknown", "noise"))
        [record] = measure(pool)
        assert (record.status, record.proof.verdict, questions(pool)) == ("ok", "unknown", 1)
    assert not (tmp_path / "proofs").exists()


def test_a_proof_that_breaks_is_unknown(measure):
    error = Error(phase="measure", type="RuntimeError", message="no memory")
    [record] = measure(FakePool(GOOD, (Failed(status="run_error", error=error),)))
    assert (record.status, record.proof.verdict) == ("ok", "unknown")
    assert record.proof.reason == "the proof failed to finish: no memory"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [(proved(), "unknown"), (FAILED, "unknown"), (proved("failed", "no output", outputs_equal=False), "failed")],
)
def test_beside_other_programs_times_prove_nothing(measure, answer, verdict):
    """An output that is not there when the clock stops does, whoever else is busy."""
    pool = FakePool(GOOD, answer)
    used(pool, itertools.repeat(1.0))
    [record] = measure(pool, quiet=True, wait_quiet=False, prove="again")
    assert record.proof.verdict == verdict


def test_beside_other_programs_none_is_taken_unless_asked_for(measure):
    """It would prove nothing; the next result asks again."""
    pool = FakePool(GOOD, GOOD, proved())
    # At the begin of a process's turns, and where a result needs a proof.
    used(pool, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    records = measure(pool, processes=2, quiet=True, wait_quiet=False)
    assert [each.proof.verdict for each in records] == ["unknown", "passed"]
    assert questions(pool) == 1


CRASHED = (Failed(status="crashed", error=Error(phase="load", type="E", message="m")),)


@pytest.mark.parametrize(
    ("chosen", "answers"), [({"prove": "off"}, GOOD), ({"verify": "only"}, CRASHED), ({}, CRASHED)]
)
def test_nothing_is_proved_where_there_is_no_number_or_nobody_asks(measure, chosen, answers):
    pool = FakePool(answers)
    [record] = measure(pool, **chosen)
    assert (record.proof, questions(pool)) == (None, 0)


def test_what_is_kept_says_what_it_holds_for(measure, tmp_path):
    measure(FakePool(GOOD, proved()))
    [file] = (tmp_path / "proofs").iterdir()
    kept = json.loads(file.read_text())
    assert (kept["backend"], kept["proof"]["verdict"], kept["machine_id"]) == (
        "eager",
        "passed",
        ENVIRONMENT.machine_id,
    )
