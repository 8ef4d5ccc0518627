"""What surrounds the scheduler: counting, and a pool of processes for each environment."""

import sys
import types

import msgspec
import pytest
from runner_makers import ENVIRONMENT, entry, facts, machine, record, settings

from runner.schedule.execute import Result, Tally, _facts, _labs
from runner.schedule.history import History


def in_environment(name, backend="eager"):
    return msgspec.structs.replace(entry(backend), environment=name)


def test_of_an_experiment_the_newest_attempt_counts():
    """What was tried again and passed has not failed."""
    written, told = [], []
    tally = Tally(write_record=written.append, on_record=lambda: told.append(1))
    for each in (record(entry(), "crashed"), record(entry("inductor"), "oom"), record(entry(), "ok", attempt=2)):
        tally.write(each)
    assert (tally.failed, len(written), len(told)) == (1, 3, 3)


def test_the_same_experiment_in_two_environments_counts_twice():
    tally = Tally(write_record=lambda _: None)
    for name in ("one", "two"):
        each = record(entry(), "crashed")
        each.environment = msgspec.structs.replace(ENVIRONMENT, name=name)
        tally.write(each)
    assert tally.failed == 2


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
    found = _facts(folder, machines, None)
    assert {name: each.environment.name for name, each in found.items()} == {"default": "default", "old": "old"}
    assert [each.python for each in found.values()] == [sys.executable, "/venvs/old/bin/python"]
    assert {each.settings.timeout_s for each in found.values()} == {7.0}


def test_each_environment_has_a_server_of_its_own(folder, machines):
    """It imports what its own experiments need, and only where there are any."""
    left = [entry("openxla+dynamo"), in_environment("old"), in_environment("old", "inductor")]
    labs = _labs(_facts(folder, machines, None), left, folder)
    here, there = labs["default"].pool, labs["old"].pool
    assert [each.log.name for each in (here, there)] == ["server.log", "server-old.log"]
    assert (here.python, there.python) == (sys.executable, "/venvs/old/bin/python")
    assert (here.probe, there.probe) == (False, True)
    assert ("torch_xla" in here.preload, "torch_xla" in there.preload) == (True, False)
    assert (here.variables, sorted(there.variables)) == ({}, ["PYTHONPATH"])
    assert here.servers is there.servers
    assert here.live is there.live
    assert here.run_id == there.run_id
    assert list(_labs(_facts(folder, machines, None), [in_environment("old")], folder)) == ["old"]


@pytest.mark.parametrize(
    ("status", "passed_before", "new"),
    [("crashed", True, True), ("crashed", False, False), ("ok", True, False), ("never_steady", True, False)],
)
def test_a_new_failure_is_one_that_passed_last_time(status, passed_before, new):
    each = record(entry(), status)
    history = History(frozenset([(each.experiment_id, "default")] if passed_before else []), 1)
    assert history.is_new_failure(each) is new


def test_what_was_done_is_one_sentence():
    result = Result(measured=3, failed=1, wrong=0, skipped=2, already_finished=4, seconds=61.0)
    assert result.sentence() == "Measured 3 experiments in 1 min 1 s (1 failed), skipped 2, 4 were finished before."


def test_a_failure_of_one_process_is_one_of_its_experiment():
    tally = Tally(write_record=lambda _: None)
    for replica, status in enumerate(["ok", "crashed", "ok"]):
        tally.write(record(entry(), status, 1, replica))
    assert tally.failed == 1
    for replica in range(3):
        tally.write(record(entry(), "ok", 2, replica))
    assert tally.failed == 0


def test_a_wrong_answer_stays_wrong_though_later_processes_are_not_verified():
    tally = Tally(write_record=lambda _: None)
    wrong = record(entry())
    wrong.verification_code = "FAIL"
    for each in (wrong, record(entry(), "ok", 1, 1)):
        tally.write(each)
    assert tally.wrong == 1


def test_a_twin_counts_for_nothing():
    tally = Tally(write_record=lambda _: None)
    twin = record(entry(), "crashed")
    twin.twin_of = "another"
    tally.write(twin)
    assert tally.failed == 0
