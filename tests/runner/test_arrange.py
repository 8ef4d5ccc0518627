"""The order of a group's processes: balanced, the same for the same seed, and what a device or preset allows."""

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runner_makers import entry, settings

from runner.schedule.groups import Group, Member, one_by_one, order_of, turn_order

MEMBERS = [Member(entry(name)) for name in ("eager", "inductor", "openxla+lazytensor")]


@pytest.mark.parametrize(
    ("chosen", "order"),
    [
        ({}, "interleaved"),
        ({"interleave": "rounds"}, "rounds"),
        ({"interleave": "off"}, "sequence"),
        ({"preset": "peer"}, "sequence"),
        ({"preset": "hud"}, "interleaved"),
        ({"verify": "only"}, "sequence"),
        ({"verify": "with"}, "interleaved"),
    ],
)
def test_the_order_is_the_one_asked_for_where_it_makes_sense(chosen, order):
    assert order_of(MEMBERS, settings(**chosen)) == order


def test_alone_there_is_nobody_to_take_turns_with():
    assert order_of(MEMBERS[:1], settings()) == "sequence"


def test_a_device_with_one_owner_runs_rounds_of_whole_processes():
    """A stopped process would keep the TPU from the next one."""
    members = [
        Member(entry("openxla+lazytensor", accelerator="tpu")),
        Member(entry("openxla+dynamo", accelerator="tpu")),
    ]
    assert order_of(members, settings()) == "rounds"
    assert order_of(members, settings(interleave="off")) == "sequence"


def names(pairs):
    return [(member.entry.variant, replica) for member, replica in pairs]


def test_in_sequence_the_processes_of_a_member_stand_in_a_row():
    assert names(one_by_one(MEMBERS[:2], range(2), "sequence")) == [
        ("eager", 0),
        ("eager", 1),
        ("inductor", 0),
        ("inductor", 1),
    ]


def test_rounds_go_there_and_back():
    """The plan's first process resolves the batch size in either order."""
    assert names(one_by_one(MEMBERS[:2], range(3), "rounds")) == [
        ("eager", 0),
        ("inductor", 0),
        ("inductor", 1),
        ("eager", 1),
        ("eager", 2),
        ("inductor", 2),
    ]


def test_a_warm_experiment_follows_its_cold_sibling_there_and_back():
    members = [Member(entry("inductor")), Member(entry("inductor", cache="warm")), Member(entry("eager"))]
    found = [name for name, _ in names(one_by_one(members, range(2), "rounds"))]
    assert found == ["inductor", "inductor cache=warm", "eager", "eager", "inductor", "inductor cache=warm"]


@given(st.integers(1, 9), st.integers(0, 30), st.integers(), st.integers(0, 5))
def test_every_round_has_every_process_once_and_the_next_goes_back(count, number, seed, replica):
    order = turn_order(count, number, seed, replica)
    assert sorted(order) == list(range(count))
    assert turn_order(count, number + 1, seed, replica) == order[::-1]
    assert turn_order(count, number + 2, seed, replica) == order


def test_over_two_rounds_each_process_stands_equally_early():
    """A drift that is linear in time hits all alike."""
    places = collections.Counter()
    for number in range(2):
        for place, index in enumerate(turn_order(5, number, 7, 0)):
            places[index] += place
    assert len(set(places.values())) == 1


def test_the_first_order_depends_on_seed_and_replica():
    orders = {tuple(turn_order(6, 0, seed, replica)) for seed in range(3) for replica in range(3)}
    assert len(orders) > 5


@pytest.mark.parametrize(
    ("repeat", "rounds", "turns"),
    [
        (10, 5, (2, 2, 2, 2, 2)),
        (30, 5, (6,) * 5),
        (12, 5, (3, 3, 2, 2, 2)),
        (3, 5, (1, 1, 1)),
        (10, 1, (10,)),
        (1, 5, (1,)),
    ],
)
def test_turns_share_the_repeats(repeat, rounds, turns):
    assert settings(repeat=repeat, rounds=rounds).turns() == turns


def test_a_twin_is_a_member_beside_its_original():
    eager = entry()
    group = Group(name="g", entries=(eager, entry("inductor")), attempt=1, twins=(eager,))
    assert [member.twin for member in group.members] == [False, False, True]
    assert len({member.key for member in group.members}) == 3
