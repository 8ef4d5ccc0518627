"""What is left of a plan, given the records of its run."""

from hypothesis import given, settings
from hypothesis import strategies as st
from runner_makers import entry, record

from runner.schedule.groups import remaining
from store.record import FAILED

PLAN = [
    entry("eager", "a"),
    entry("inductor", "a"),
    entry("openxla+lazytensor", "a"),
    entry("eager", "b"),
    entry("inductor", "b"),
    entry("openxla+dynamo", "a", skip="no torch_xla"),
    entry("inductor", "b", skip="no loss", test="train"),
]
RUNNABLE = [each for each in PLAN if each.runnable]
SKIPS = [each for each in PLAN if not each.runnable]
STATUSES = ["ok", "never_steady", "run_error", "timeout", "crashed"]

FEW = settings(max_examples=40)
"""A plan of seven experiments has few ways to be half measured."""


def all_of(todo):
    measured = [each for group in todo.groups for each in group.entries]
    return [*measured, *todo.skips, *todo.finished]


def test_without_records_everything_is_left_in_groups():
    todo = remaining(PLAN, [])
    assert [(group.name, group.attempt, len(group.entries)) for group in todo.groups] == [
        ("dummy/a/eval/float32/None/cpu", 1, 3),
        ("dummy/b/eval/float32/None/cpu", 1, 2),
    ]
    assert list(todo.skips) == SKIPS
    assert todo.finished == ()


def test_with_all_records_nothing_is_left():
    todo = remaining(PLAN, [*map(record, RUNNABLE), *(record(each, "skipped") for each in SKIPS)])
    assert (todo.groups, todo.skips) == ((), ())
    assert list(todo.finished) == RUNNABLE


def test_a_group_with_a_missing_member_is_measured_again_as_a_whole():
    """Its members are comparable only when they are measured together."""
    todo = remaining(PLAN, [record(PLAN[0]), record(PLAN[1]), record(PLAN[3]), record(PLAN[4])])
    (group,) = todo.groups
    assert (list(group.entries), group.attempt) == (PLAN[:3], 2)
    assert list(todo.finished) == PLAN[3:5]


def test_the_attempt_goes_up_until_the_group_is_whole():
    records = [record(PLAN[3], attempt=1), record(PLAN[3], attempt=2)]
    assert [group.attempt for group in remaining(PLAN[3:5], records).groups] == [3]
    records += [record(each, attempt=3) for each in PLAN[3:5]]
    assert remaining(PLAN[3:5], records).groups == ()


def test_members_of_different_attempts_do_not_make_a_group():
    records = [record(PLAN[3], attempt=1), record(PLAN[4], attempt=2)]
    assert [group.attempt for group in remaining(PLAN[3:5], records).groups] == [3]


def test_failures_are_finished_unless_they_are_to_be_retried():
    records = [record(PLAN[3]), record(PLAN[4], "crashed")]
    assert list(remaining(PLAN[3:5], records).finished) == PLAN[3:5]
    (group,) = remaining(PLAN[3:5], records, retry_failed=True).groups
    assert (list(group.entries), group.attempt) == (PLAN[3:5], 2)


def test_a_failure_that_a_later_attempt_mended_is_not_retried():
    records = [record(each, status, attempt) for attempt, status in [(1, "crashed"), (2, "ok")] for each in PLAN[3:5]]
    assert remaining(PLAN[3:5], records, retry_failed=True).groups == ()


def test_never_steady_is_a_result_and_no_failure():
    records = [record(PLAN[3]), record(PLAN[4], "never_steady")]
    assert remaining(PLAN[3:5], records, retry_failed=True).groups == ()


def test_a_skip_is_written_once():
    assert remaining(PLAN, [record(SKIPS[0], "skipped")]).skips == (SKIPS[1],)


def test_records_of_other_experiments_change_nothing():
    other = [record(entry("eager", "elsewhere")), record(entry("eager", "a", batch_size=4))]
    assert remaining(PLAN, other) == remaining(PLAN, [])


record_lists = st.lists(
    st.builds(record, st.sampled_from(RUNNABLE), st.sampled_from(STATUSES), st.integers(1, 3)), max_size=12
)


@FEW
@given(record_lists, st.sets(st.sampled_from(range(len(SKIPS)))), st.booleans())
def test_any_subset_of_records_loses_nothing(records, written, retry):
    """Every entry is measured, skipped or finished, once; only what has a record is finished."""
    records = [*records, *(record(SKIPS[index], "skipped") for index in written)]
    todo = remaining(PLAN, records, retry_failed=retry)
    done = {each.experiment_id for each in records}
    listed = all_of(todo)
    assert len(listed) == len({each.experiment_id for each in listed}) == len(PLAN) - len(written)
    assert {each.experiment_id for each in todo.finished} <= done
    assert {each.experiment_id for each in PLAN} == {each.experiment_id for each in listed} | done & {
        each.experiment_id for each in SKIPS
    }


@FEW
@given(record_lists, st.booleans())
def test_a_group_is_left_whole_or_finished_whole(records, retry):
    todo = remaining(PLAN, records, retry_failed=retry)
    finished = {each.group for each in todo.finished}
    for group in todo.groups:
        assert group.name not in finished
        assert list(group.entries) == [each for each in RUNNABLE if each.group == group.name]


@FEW
@given(record_lists, st.booleans())
def test_a_new_attempt_is_newer_than_every_record_of_its_group(records, retry):
    """Records of two attempts can never be taken for one."""
    groups = {each.experiment_id: each.group for each in RUNNABLE}
    for group in remaining(PLAN, records, retry_failed=retry).groups:
        seen = [each.attempt for each in records if groups[each.experiment_id] == group.name]
        assert group.attempt == max(seen, default=0) + 1


@FEW
@given(record_lists)
def test_measuring_what_is_left_leaves_nothing(records):
    todo = remaining(PLAN, records)
    new = [record(each, attempt=group.attempt) for group in todo.groups for each in group.entries]
    after = remaining(PLAN, [*records, *new, *(record(each, "skipped") for each in todo.skips)])
    assert (after.groups, after.skips) == ((), ())


@FEW
@given(record_lists)
def test_retrying_takes_up_exactly_the_groups_with_a_failure(records):
    """Beside the incomplete ones, which are taken up in any case."""
    plain = {group.name for group in remaining(PLAN, records).groups}
    retried = {group.name for group in remaining(PLAN, records, retry_failed=True).groups}
    assert plain <= retried
    for name in retried - plain:
        members = {each.experiment_id for each in RUNNABLE if each.group == name}
        last = max(each.attempt for each in records if each.experiment_id in members)
        newest = {each.status for each in records if each.experiment_id in members and each.attempt == last}
        assert newest & FAILED


def processes(of, *statuses, attempt=1):
    """Return one record per replica."""
    return [record(of, status, attempt, replica) for replica, status in enumerate(statuses)]


def remaining_attempts(records, **changes):
    return [group.attempt for group in remaining(PLAN[3:5], records, **changes).groups]


def test_a_group_is_complete_when_every_member_has_all_its_replicas():
    whole, part = processes(PLAN[3], "ok", "ok", "ok"), processes(PLAN[4], "ok", "ok")
    assert remaining_attempts([*whole, *part], replicas=3) == [2]
    assert remaining_attempts([*whole, *part, record(PLAN[4], "ok", 1, 2)], replicas=3) == []
    assert remaining_attempts([*whole, *part], replicas=2) == []


def test_replicas_of_two_attempts_do_not_make_one():
    members = [*processes(PLAN[3], "ok", "ok"), *processes(PLAN[4], "ok")]
    assert remaining_attempts([*members, *processes(PLAN[4], "ok", "ok", attempt=2)], replicas=2) == [3]


def test_what_failed_in_its_first_process_is_complete_without_the_others():
    whole = processes(PLAN[3], "ok", "ok", "ok")
    assert remaining_attempts([*whole, *processes(PLAN[4], "timeout")], replicas=3) == []
    assert remaining_attempts([*whole, *processes(PLAN[4], "ok", "timeout")], replicas=3) == [2]
    assert remaining_attempts([*whole, *processes(PLAN[4], "ok", "timeout", "ok")], replicas=3) == []


def test_a_failure_in_any_process_is_retried_where_that_is_asked_for():
    records = [*processes(PLAN[3], "ok", "ok"), *processes(PLAN[4], "ok", "crashed")]
    assert remaining_attempts(records, replicas=2, retry_failed=True) == [2]
    assert remaining_attempts(records, replicas=2) == []
