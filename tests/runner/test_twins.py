"""Which experiments are measured against themselves."""

import pytest
from runner_makers import entry, settings

from runner.schedule.groups import choose_twins, remaining, usual_twins, with_twins


def plan(groups, members=("eager", "inductor")):
    return [entry(backend, model=f"m{number}") for number in range(groups) for backend in members]


def chosen(*arguments):
    return {each.experiment_id: each for entries in choose_twins(*arguments).values() for each in entries}


@pytest.mark.parametrize(("groups", "count"), [(0, 0), (2, 0), (3, 1), (19, 1), (20, 2), (105, 10)])
def test_every_tenth_group_has_one_and_a_small_run_at_least_one(groups, count):
    assert usual_twins(groups) == len(chosen(plan(groups), None, 7)) == count


def test_none_are_chosen_where_none_are_asked_for():
    assert choose_twins(plan(30), 0, 7) == {}


def test_twins_are_spread_over_groups_before_a_group_has_two():
    found = choose_twins(plan(4), 6, 7)
    assert sorted(len(each) for each in found.values()) == [1, 1, 2, 2]
    assert len(chosen(plan(4), 100, 7)) == 8


def test_each_stands_under_the_name_of_its_group():
    assert all(each.group == name for name, entries in choose_twins(plan(4), 6, 7).items() for each in entries)


def test_what_cannot_run_is_never_chosen():
    skipped = [entry("inductor", model=f"m{number}", skip="no compiler") for number in range(20)]
    runnable = [entry("eager", model=f"m{number}") for number in range(3)]
    assert chosen([*skipped, *runnable], 50, 7).keys() == {each.experiment_id for each in runnable}


def test_the_same_plan_in_any_order_gives_the_same_twins_and_another_seed_others():
    """So a resumed run goes on with the twins that it began with."""
    entries = plan(40)
    assert choose_twins(entries, 5, 7) == choose_twins(list(reversed(entries)), 5, 7)
    assert chosen(entries, 5, 7).keys() != chosen(entries, 5, 8).keys()


def test_every_backend_has_its_turn():
    assert {each.backend for each in chosen(plan(60), 20, 7).values()} == {"eager", "inductor"}


def twins_of(entries, **changes):
    """Return how many twins the groups of a plan get, group by group."""
    groups = with_twins(remaining(entries, []).groups, entries, settings(**{"processes": 3, **changes}))
    return [len(group.twins) for group in groups]


def test_in_a_calibration_every_experiment_has_one():
    assert twins_of(plan(2), purpose="calibration") == [2, 2]
    assert settings(purpose="calibration", processes=6).replicas == 3
    assert settings(purpose="calibration", processes=6).records == 6


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"processes": 1}, 0),
        ({"interleave": "off"}, 1),
        ({"processes": 1, "interleave": "off"}, 0),
        ({"preset": "peer"}, 0),
        ({"verify": "only"}, 0),
        ({"twins": 0}, 0),
        ({"twins": 3}, 3),
        ({"twins": 2, "preset": "peer"}, 2),
    ],
)
def test_a_run_has_the_usual_ones_where_its_verdicts_rest_on_more_than_single_processes(changes, count):
    assert sum(twins_of(plan(4), **changes)) == count


def test_a_resumed_run_goes_on_with_its_own_twins():
    """They are chosen from the whole plan, not from what is left of it."""
    entries = plan(12)
    whole = {each.name: each.twins for each in with_twins(remaining(entries, []).groups, entries, settings())}
    rest = {each.name: each.twins for each in with_twins(remaining(entries, []).groups[5:], entries, settings())}
    assert all(whole[name] == twins for name, twins in rest.items())
