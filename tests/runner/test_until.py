"""When the turns of a process are enough; with a real clock in tests/test_flags_in_records.py."""

import itertools
import random

import pytest
from runner_makers import settings

from runner.process.samples import TurnBudget
from store.stats.median import median_interval


def lead(draw, *, length=2, block_s=1.0, **chosen):
    """Take turns until they are enough; return the times, and the numbers of blocks at which they were looked at."""
    times, looks = [], []
    turns = TurnBudget(settings(**{"until_stable": 0.01, "time_budget_s": 1e9, **chosen}))

    def look():
        looks.append(len(times))
        return times

    while True:
        times += [draw() for _ in range(length)]
        turns.took(length, length * block_s)
        if turns.enough(look):
            return times, looks, turns.reached(times)


def noise(seed, deviation):
    source = random.Random(seed)
    return lambda: source.gauss(1.0, deviation)


def test_it_looks_after_each_turn_and_later_when_there_are_five_percent_more():
    times, looks, found = lead(noise(1, 0.1), repeat=10)
    assert looks[:5] == [10, 12, 14, 16, 18]
    assert all(second - first <= 0.05 * first + 2 for first, second in itertools.pairwise(looks))
    assert looks[-1] == len(times) < 2000
    assert len(looks) < 120
    assert found.stable


def test_it_never_looks_before_the_least_number_of_blocks():
    times, looks, _ = lead(lambda: 1.0, repeat=24)
    assert (len(times), looks) == (24, [24])


@pytest.mark.parametrize(("budget", "blocks"), [(99, 100), (100, 100), (101, 102)])
def test_the_budget_is_looked_at_after_each_turn(budget, blocks):
    times, _, found = lead(noise(1, 0.5), repeat=10, time_budget_s=budget)
    assert (len(times), found.spent_s, found.stable) == (blocks, blocks, False)


def test_stopping_where_the_interval_is_narrow_costs_it_little_of_its_95_percent():
    """Of independent blocks; of those that resemble their neighbours it would (docs/measurement.md)."""
    held = 0
    for seed in range(300):
        times, _, _ = lead(noise(seed, 0.02), repeat=10)
        low, high = median_interval(times)
        held += low <= 1.0 <= high
    assert held >= 0.90 * 300


def test_spoilt_turns_are_forgotten():
    turns = TurnBudget(settings(until_stable=0.01, repeat=4))
    turns.took(40, 59.0)
    assert not turns.enough(lambda: [1.0, 2.0] * 20)
    turns.spoilt()
    turns.took(2, 1.0)
    assert not turns.enough(lambda: pytest.fail("it has too few blocks to look at"))
    turns.took(4, 2.0)
    assert turns.enough(lambda: [1.0] * 6)
    assert turns.reached([1.0] * 6).spent_s == 3.0
