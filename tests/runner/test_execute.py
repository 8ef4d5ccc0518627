"""What surrounds the scheduler: counting, and a pool of processes for each environment."""

import io
import sys
import types

import msgspec
import pytest
from runner_makers import ENVIRONMENT, entry, facts, machine, record, settings

from runner.schedule import execute
from runner.schedule.execute import ExecutionResult, ExperimentTally, _facts, _groups, _pools
from runner.schedule.groups import Group, Remaining, remaining
from runner.schedule.progress import ProgressView
from runner.schedule.quiet import QuietRun
from runner.schedule.scheduler import History


def in_environment(name, backend="eager"):
    return msgspec.structs.replace(entry(backend), environment=name)


def tallied(*records):
    tally = ExperimentTally()
    for each in records:
        tally.add(each)
    return tally.counts(verified=True)


def verified(of, code, status="ok", attempt=1):
    each = record(of, status, attempt)
    each.verification_code = code
    return each


def test_of_an_experiment_the_newest_attempt_counts():
    """What was tried again and passed has not failed."""
    found = tallied(
        verified(entry(), "VERIFIER_DIDNT_RUN", "crashed"),
        verified(entry("inductor"), "VERIFIER_DIDNT_RUN", "oom"),
        verified(entry(), "PASS", attempt=2),
    )
    assert (found.failed, found.unverified) == (1, {})


def test_the_same_experiment_in_two_pools_counts_twice():
    records = [record(entry(), "crashed") for _ in range(2)]
    for each, name in zip(records, ("one", "two"), strict=True):
        each.environment = msgspec.structs.replace(ENVIRONMENT, name=name)
    assert tallied(*records).failed == 2


@pytest.mark.parametrize("code", ["EXCEPTION_RAISED", "EAGER_FAILED", "NONDETERMINISTIC_EAGER_RUN"])
def test_a_verification_without_a_verdict_is_a_failure(code):
    """Nobody knows whether the answer is right, although all processes ended well."""
    found = tallied(verified(entry(), code, "verify_only"), verified(entry("inductor"), "FAIL", "verify_only"))
    assert (found.failed, found.wrong) == (1, 1)
    assert found.sentence() == f"1 failed, 1 of them in verification: {code} 1, 1 with a wrong answer"


def test_what_nobody_asked_to_verify_has_not_failed():
    """A crash is one failure, whatever became of its verification; a skip by the tables is none."""
    tally = ExperimentTally()
    tally.add(record(entry()))
    assert tally.counts(verified=False).failed == 0
    skipped = tallied(verified(entry(), "VERIFIER_SKIPPED"))
    assert skipped.failed == 0
    assert skipped.sentence() == "0 failed, 1 not judged by the verification: VERIFIER_SKIPPED"


@pytest.fixture
def folder(tmp_path):
    other = msgspec.structs.replace(ENVIRONMENT, name="old")
    file = types.SimpleNamespace(run=facts().run, timestamp=1e9, environments=[ENVIRONMENT, other])
    return types.SimpleNamespace(path=tmp_path, file=file, settings=settings(timeout_s=7.0, start="interpreter"))


@pytest.fixture
def machines():
    old = machine()
    return {"default": machine(), "old": type(old)(**{**vars(old), "python": "/venvs/old/bin/python"})}


def test_each_environment_has_facts_of_its_own(folder, machines):
    """The settings are those of this call: of a resumed run, with the limits that were given now."""
    found = _facts(folder, machines, None, {})
    assert {name: each.environment.name for name, each in found.items()} == {"default": "default", "old": "old"}
    assert [each.python for each in found.values()] == [sys.executable, "/venvs/old/bin/python"]
    assert {each.settings.timeout_s for each in found.values()} == {7.0}


def test_each_environment_has_a_server_of_its_own(folder, machines):
    """It imports what its own experiments need, and only where there are any."""
    left = [entry("openxla+dynamo"), in_environment("old"), in_environment("old", "inductor")]
    pools = _pools(_facts(folder, machines, None, {}), left, folder, QuietRun())
    here, there = pools["default"], pools["old"]
    assert [each.log.name for each in (here, there)] == ["server.log", "server-old.log"]
    assert (here.python, there.python) == (sys.executable, "/venvs/old/bin/python")
    assert (here.probe, there.probe) == (False, True)
    assert ("torch_xla" in here.preload, "torch_xla" in there.preload) == (True, False)
    assert (here.variables, sorted(there.variables)) == ({}, ["PYTHONPATH"])
    assert here.servers is there.servers
    assert here.live is there.live
    assert here.run_id == there.run_id
    assert list(_pools(_facts(folder, machines, None, {}), [in_environment("old")], folder, QuietRun())) == ["old"]


def test_the_results_are_read_once_however_many_groups_go_on(monkeypatch):
    """A retry of 300 groups had read them 300 times before it measured anything."""
    plan = [entry(backend, model) for model in ("dummy", "dummy_nonzero") for backend in ("eager", "inductor")]
    had, reads = [record(each) for each in plan], []
    monkeypatch.setattr(execute, "read_records", lambda path: reads.append(path) or had)
    file = types.SimpleNamespace(plan=plan, run=facts().run)
    folder = types.SimpleNamespace(file=file, results="results.jsonl", settings=settings(processes=3, twins=0))
    found = _groups(folder, remaining(plan, had, replicas=3))
    assert [group.extension.replicas for group in found] == [range(1, 3), range(1, 3)]
    assert reads == ["results.jsonl"]


@pytest.mark.parametrize(
    ("status", "passed_before", "new"),
    [("crashed", True, True), ("crashed", False, False), ("ok", True, False), ("never_steady", True, False)],
)
def test_a_new_failure_is_one_that_passed_last_time(status, passed_before, new):
    each = record(entry(), status)
    history = History(frozenset([(each.experiment_id, "default")] if passed_before else []), 1)
    assert history.is_new_failure(each) is new


def test_what_was_done_is_one_sentence():
    """What an earlier call has finished is counted apart, and is not forgotten."""
    failed, none = tallied(record(entry(), "crashed")), tallied()
    result = ExecutionResult(measured=3, counts=failed, before=none, skipped=2, already_finished=4, seconds=61.0)
    assert result.sentence() == "Measured 3 experiments in 1 min 1 s (1 failed), skipped 2, 4 were already finished."
    again = ExecutionResult(measured=0, counts=none, before=failed, skipped=0, already_finished=4, seconds=1.0)
    assert again.sentence().endswith("(0 failed), skipped 0, 4 were already finished (1 failed).")
    assert (again.failed, again.wrong) == (True, False)
    checked = ExecutionResult(
        measured=1, counts=none, before=none, skipped=0, already_finished=0, seconds=1.0, timed=False
    )
    assert checked.sentence().startswith("Verified 1 experiment in ")


def test_a_failure_of_one_process_is_one_of_its_experiment():
    processes = [record(entry(), status, 1, replica) for replica, status in enumerate(["ok", "crashed", "ok"])]
    assert tallied(*processes).failed == 1
    later = [verified(entry(), "PASS", attempt=2), record(entry(), "ok", 2, 1), record(entry(), "ok", 2, 2)]
    assert tallied(*processes, *later).failed == 0


def test_a_wrong_answer_stays_wrong_though_later_processes_are_not_verified():
    assert tallied(verified(entry(), "FAIL"), record(entry(), "ok", 1, 1)).wrong == 1


def test_a_twin_counts_for_nothing():
    twin = record(entry(), "crashed")
    twin.twin_of = "another"
    assert tallied(twin).failed == 0


def test_a_resumed_group_is_called_by_model_test_and_device():
    """The line began with the key of the group, `dummy/dummy/eval/float32/None/cpu`."""
    view = ProgressView(stream=io.StringIO(), members=[])
    group = Group(name=entry().group, entries=(entry(),), attempt=2)
    execute._note_earlier_work(view, Remaining(groups=(group,), skips=(), finished=()))
    assert view.stream.getvalue().startswith("dummy/dummy eval on cpu: it was interrupted;")
