"""Steps are found, noise is not; numbers of series with seeds."""

import math

import numpy as np
import pytest

from store import changepoints
from store.changepoints import shift_interval

SERIES_N, POINTS_N = 150, 60


def series(seed, *, noise=0.01, step=1.0, at=POINTS_N // 2, count=POINTS_N):
    values = 0.02 * np.exp(np.random.default_rng(seed).normal(0, noise, count))
    values[at:] *= step
    return list(values)


def test_a_step_of_five_percent_is_found_where_it_is():
    """At 1 % noise; found: one change within two runs of the true place, with a ratio near the true one."""
    found_n = 0
    for seed in range(SERIES_N):
        found = changepoints.changes(series(seed, step=1.05))
        found_n += any(abs(each.at - 30) <= 2 and abs(each.ratio - 1.05) < 0.015 for each in found)
    assert found_n / SERIES_N >= 0.95


def test_flat_series_give_few_false_alarms():
    alarms = sum(len(changepoints.changes(series(seed))) for seed in range(1000, 1000 + SERIES_N))
    assert alarms / SERIES_N <= 0.05


def test_the_interval_covers_the_true_step():
    """Of a step whose place is known; 95 % up to what 150 series can tell."""
    covered = 0
    for seed in range(SERIES_N):
        logs = np.log(series(seed, step=1.05))
        low, high = shift_interval(logs[:30], logs[30:])
        covered += low <= math.log(1.05) <= high
    assert covered / SERIES_N >= 0.90


def test_a_change_says_what_it_was_before_and_after():
    values = [0.010, 0.0101, 0.0099] * 4 + [0.0120, 0.0121, 0.0119] * 3
    [found] = changepoints.changes(values)
    assert (found.at, found.before_n, found.after_n) == (12, 12, 9)
    assert (found.before_s, found.after_s) == (pytest.approx(0.010), pytest.approx(0.012))
    assert found.ratio == pytest.approx(1.2)
    assert found.low < 1.2 < found.high
    assert found.p_value < 0.01


def test_several_changes_are_each_between_their_neighbours():
    values = series(1, step=1.2, at=20, noise=0.005)
    values[40:] = [value * 0.7 for value in values[40:]]
    found = changepoints.changes(values)
    assert [each.at for each in found] == [20, 40]
    assert [(each.before_n, each.after_n) for each in found] == [(20, 20), (20, 20)]


def test_a_change_of_less_than_the_floor_is_none():
    assert changepoints.changes(series(3, step=1.02, noise=0.001)) == []


@pytest.mark.parametrize("values", [[], [0.01] * 9, [0.01] * 60, [0.01] * 4 + [0.02] * 3])
def test_short_and_constant_series_have_no_change(values):
    assert changepoints.changes(values) == []


def test_an_exact_step_without_noise_is_found():
    [found] = changepoints.changes([0.01] * 12 + [0.02] * 12)
    assert (found.at, found[3:6]) == (12, pytest.approx((2.0, 2.0, 2.0)))


def test_one_odd_run_is_no_change():
    values = series(5)
    values[25] *= 2
    assert changepoints.changes(values) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_cost_is_that_of_the_library(seed):
    """The table only makes the library's L1 cost faster."""
    import ruptures

    logs = np.log(series(seed, step=1.04 if seed % 2 else 1.0, count=40, at=25))
    penalty = 2 * math.log(len(logs)) * changepoints._sigma(logs)
    plain = ruptures.Pelt(model="l1", min_size=changepoints.MIN_SEGMENT, jump=1).fit(logs).predict(pen=penalty)
    assert changepoints._candidates(logs) == plain[:-1]


def test_too_small_groups_have_no_interval():
    assert shift_interval(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == (None, None)
