"""Further processes of a group: behind those that it has, in its attempt, as it was measured before."""

import dataclasses
import io
import types

import pytest
from runner_makers import ENVIRONMENT, ended, entry, facts, record, settings

from runner.messages import Failed, Load
from runner.schedule import scheduler
from runner.schedule.execute import _measure
from runner.schedule.groups import Further, Remaining, continued, extended, remaining
from runner.schedule.progress import ProgressView
from runner.schedule.records import make_record
from runner.schedule.scheduler import Scheduler
from store.record import Error
from store.run_file import RESULTS
from store.writer import ResultsWriter
from tests.runner.test_interleave import PLENTY, Pool

PLAN = [entry("eager"), entry("inductor"), entry("openxla+lazytensor"), entry("eager", "dummy_nonzero")]
EAGER, INDUCTOR, LAZY, OTHER = PLAN


def measured(processes=2, attempt=1, **counts):
    """Return the records of a run; `counts` by variant where they are others."""
    return [
        record(each, "ok", attempt, replica) for each in PLAN for replica in range(counts.get(each.variant, processes))
    ]


def begun(*had, attempt=1):
    """Return the records of a group that was stopped: `had` processes of each of its members."""
    return [
        record(each, "ok", attempt, replica) for each, count in zip(PLAN, had, strict=False) for replica in range(count)
    ]


def left(records, processes=3):
    group = remaining(PLAN, records, replicas=processes).groups[0]
    return continued(group, records, processes)


@pytest.mark.parametrize(("had", "replicas"), [((1, 1, 1), range(1, 3)), ((2, 2, 2), range(2, 3))])
def test_a_stopped_group_goes_on_behind_the_processes_of_all_its_members(had, replicas):
    group = left(begun(*had, attempt=2))
    assert (group.attempt, group.extension.replicas, len(group.members)) == (2, replicas, 3)
    assert group.extension.batch_size is None or group.extension.batch_size > 0


@pytest.mark.parametrize("had", [(2, 2, 1), (3, 0, 0), (1, 1, 0)])
def test_a_process_that_some_members_lack_is_measured_again_with_all_others(had):
    """They have not taken turns with it."""
    group = left(begun(*had))
    assert (group.attempt, group.extension) == (2, None)


def test_a_member_that_failed_at_first_keeps_no_other_from_going_on():
    failed = record(LAZY, "crashed")
    group = left([*begun(2, 2), failed])
    assert (group.attempt, group.extension.replicas) == (1, range(2, 3))
    assert group.extension.given_up == {(LAZY.experiment_id, "default", False)}


def test_a_twin_has_to_have_its_processes_too():
    records = begun(1, 1, 1)
    group = dataclasses.replace(remaining(PLAN, records, replicas=3).groups[0], twins=(EAGER,))
    assert continued(group, records, 3).extension is None
    twin = make_record(EAGER, facts(), ended(), twin=True)
    assert continued(group, [*records, twin], 3).extension.replicas == range(1, 3)


def asked(*entries, processes=2):
    return Further(entries=entries or (EAGER, INDUCTOR), processes=processes)


def test_it_goes_on_behind_the_processes_of_the_newest_attempt():
    group = extended(asked(), PLAN, [*measured(5), *measured(2, attempt=2)])
    assert (group.attempt, group.extension.replicas) == (2, range(2, 4))
    assert [member.entry for member in group.members] == [EAGER, INDUCTOR]
    assert group.name == EAGER.group


def test_no_number_is_given_twice_in_a_group():
    """One that had none of the first further processes gets its own ones beside new ones of its baseline."""
    group = extended(asked(LAZY, INDUCTOR), PLAN, measured(2, eager=4, inductor=4))
    assert group.extension.replicas == range(4, 6)
    assert {group.extension.had[each.experiment_id, "default"] for each in (LAZY, INDUCTOR)} == {2, 4}


def test_another_group_does_not_matter():
    others = [record(OTHER, "ok", 3, replica) for replica in range(9)]
    group = extended(asked(), PLAN, [*measured(2), *others])
    assert (group.attempt, group.extension.replicas) == (1, range(2, 4))


def test_its_processes_are_started_and_sized_as_the_first_ones():
    """A group whose second attempt started interpreters goes on with interpreters."""
    records = measured(2)
    for each in records:
        each.measurement.start = "interpreter"
        each.experiment.batch_size = 7
    extension = extended(asked(), PLAN, records).extension
    assert (extension.start, extension.batch_size) == ("interpreter", 7)


def test_a_run_with_further_processes_of_some_is_finished():
    """Also where the further ones are half of what was asked for: they were killed, the first ones stay."""
    whole = [*measured(2), record(EAGER, "ok", 1, 2), record(INDUCTOR, "ok", 1, 2), record(EAGER, "ok", 1, 3)]
    assert remaining(PLAN, whole, replicas=2) == Remaining(groups=(), skips=(), finished=tuple(PLAN))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Measure what is asked for in a folder with records, by a fake pool; return new records, pool and output."""
    monkeypatch.setattr(scheduler, "machine_memory", lambda: PLENTY)

    def go(wanted, records, misdeeds=None):
        pool, shown, queue = Pool(misdeeds), io.StringIO(), [wanted, None]
        shared = facts(settings=settings(processes=2, repeat=4, rounds=2), environment=ENVIRONMENT)
        pool.stop = lambda: None
        folder = types.SimpleNamespace(file=types.SimpleNamespace(plan=PLAN), results=tmp_path / RESULTS)
        with ResultsWriter(folder.results) as writer:
            for each in records:
                writer.append(each)
            written = []
            scheduler = Scheduler(
                facts={"default": shared},
                pools={"default": pool},
                folder=tmp_path,
                write=written.append,
                progress=ProgressView(stream=shown, members=[], replicas=2),
            )
            _measure(scheduler, Remaining(groups=(), skips=(), finished=()), folder, lambda: queue.pop(0))
        return written, pool, shown.getvalue()

    return go


def test_what_is_asked_for_is_measured_in_turns_and_says_how_many_there_are(run):
    records = measured(2)
    for each in records:
        each.experiment.batch_size = 7
    written, pool, shown = run(asked(), records)
    assert [(each.variant, each.replica, each.attempt) for each in written] == [
        ("eager", 2, 1),
        ("inductor", 2, 1),
        ("eager", 3, 1),
        ("inductor", 3, 1),
    ]
    assert {(each.measurement.order, each.measurement.processes) for each in written} == {("interleaved", 4)}
    assert {command.batch_size for _, command in pool.asked if isinstance(command, Load)} == {7}
    assert "[1/4] dummy/dummy eval eager on cpu, process 3 of 4: " in shown
    assert "[4/4] dummy/dummy eval inductor on cpu, process 4 of 4: " in shown


def test_the_number_of_processes_is_each_members_own(run):
    written, _, _ = run(asked(INDUCTOR, LAZY), measured(2, inductor=4, eager=4))
    found = {each.variant: each.measurement.processes for each in written}
    assert found == {"inductor": 6, "openxla+lazytensor": 4}


def test_what_fails_in_its_first_further_process_is_tried_in_no_other(run):
    """The others go on, and the failed one is a record of its own."""
    failed = Failed(status="compile_error", error=Error(phase="compile", type="ValueError", message="no"))
    written, _, _ = run(asked(), measured(2), {("inductor", 0): {"warm": failed}})
    assert [(each.variant, each.replica, each.status) for each in written] == [
        ("eager", 2, "ok"),
        ("inductor", 2, "compile_error"),
        ("eager", 3, "ok"),
    ]
