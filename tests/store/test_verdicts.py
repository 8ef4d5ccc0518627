"""The five verdicts, each from the smallest case that gives it."""

import math

import numpy as np
import pytest

from store.compare.calibration import clopper_pearson
from store.compare.cell import break_even, differences, incomparable, split_change
from store.stats.effects import effects
from store.stats.floors import DEFAULT_FLOOR, default_floor, floor_of
from store.stats.verdicts import judge


def one(values, floor=0.02, prior=0.00001, reason=None, *, interleaved=True):
    """Judge one cell."""
    return judge(effects([values], prior, 20.0), floor, [reason], interleaved=interleaved)[0]


def test_faster_and_slower_are_clear_of_one_and_above_the_floor():
    faster, slower = one([0.10, 0.11, 0.09]), one([-0.10, -0.11, -0.09])
    assert (faster.word, slower.word) == ("faster", "slower")
    assert faster.ratio == pytest.approx(math.exp(0.10))
    assert faster.confirmed
    assert "above the noise floor of 2.0%" in faster.reason


def test_same_needs_the_whole_interval_within_the_floor():
    assert one([0.001, -0.001, 0.0005]).word == "same"


def test_clear_of_one_below_the_floor_is_ambiguous_and_says_so():
    """An effect of 1.9 % with a narrow interval that sticks out of a floor of 2 %."""
    found = one([0.019, 0.0195, 0.0190])
    assert found.word == "ambiguous"
    assert "not above the noise floor" in found.reason


def test_ambiguous_says_how_many_processes_would_settle_it():
    """With scatter 5 % and effect 5 % three processes cannot tell; the number told is the first that can."""
    values = [0.10, 0.05, 0.0]
    found = one(values, prior=0.0025)
    assert found.word == "ambiguous"
    assert found.needed is not None
    settled = effects([np.full(found.needed, 0.05)], 0.0025, 22.0)
    assert settled.low[0] > -0.01
    assert found.needed > 3


def test_not_comparable_gives_the_field():
    found = one([0.1, 0.1, 0.1], reason="threads differs: 2 and 4")
    assert (found.word, found.reason) == ("not comparable", "threads differs: 2 and 4")
    assert one([np.nan]).word == "not comparable"


@pytest.mark.parametrize(
    ("values", "interleaved", "why"),
    [([0.1], True, "only 1 process of each side took turns"), ([0.1, 0.1, 0.1], False, "were not interleaved")],
)
def test_few_processes_or_different_runs_are_suspected_only(values, interleaved, why):
    found = one(values, interleaved=interleaved)
    assert found.word == "faster"
    assert not found.confirmed
    assert why in found.reason


def test_many_cells_judged_together_need_more_than_one_lucky_p():
    """A cell that is clear of 1 alone is ambiguous among 200 that are not."""
    lucky = [0.024, 0.026, 0.025]
    noise = np.random.default_rng(3).normal(0, 0.02, (200, 3))
    cells = effects(np.vstack([[lucky], noise]), 0.0003, 5.0)
    assert cells.low[0] > 0
    together = judge(cells, 0.02, [None] * 201, interleaved=True)
    assert together[0].word == "ambiguous"
    assert "not significant among all cells judged together" in together[0].reason


def test_a_floor_of_few_pairs_stays_near_the_default():
    """One pair that happened to agree promises nothing; a hundred do."""
    assert floor_of([0.0]).floor > 0.8 * DEFAULT_FLOOR
    assert default_floor().floor == DEFAULT_FLOOR
    assert default_floor().pairs == 0
    many = floor_of(np.random.default_rng(5).normal(0, 0.005, 100))
    assert many.floor == pytest.approx(0.01, rel=0.2)
    assert many.pairs == 100


def test_equal_pairs_are_no_machine_without_noise():
    """With a floor of 0, every difference would be above it, and no process whose rounds differ would have a weight."""
    equal = floor_of([0.0] * 6)
    assert 0.01 < equal.floor < DEFAULT_FLOOR
    effect = effects([[0.1, 0.11, 0.12]], equal.variance, equal.freedom, within=[[0.001, 0.002, 0.001]])
    assert effect.log_ratio[0] == pytest.approx(0.11, rel=0.01)


def test_clopper_pearson_has_the_published_bounds():
    """3 of 150: 0.41 % to 5.73 %; none of 150: up to 2.43 %."""
    assert clopper_pearson(3, 150) == pytest.approx((0.00414, 0.0573), rel=0.01)
    assert clopper_pearson(0, 150) == pytest.approx((0.0, 0.0243), rel=0.01)
    assert clopper_pearson(0, 0) == (0.0, 1.0)


def test_a_speedup_that_moves_because_of_its_baseline_says_so():
    """Baseline 10 % slower, backend the same: the speedup rose by 10 %, none of it the backend's."""
    assert split_change(1.0, 0.5, 1.1, 0.5) == pytest.approx((1.0, 1.1))


CASES = {
    (0.0, 1.0, 0.0, 2.0): ("ahead from the start", None),
    (10.0, 1.0, 0.0, 2.0): ("after", 11),
    (10.0, 2.0, 0.0, 2.0): ("never", None),
    (10.0, 3.0, 0.0, 2.0): ("never", None),
    (0.0, 3.0, 10.0, 2.0): ("never", None),
}


def test_break_even_has_three_outcomes():
    """After n iterations: the first n at which the whole work is done earlier."""
    assert {case: break_even(*case) for case in CASES} == CASES
    [(wait, time, base_wait, base_time)] = [case for case, (outcome, _) in CASES.items() if outcome == "after"]
    assert wait + 11 * time < base_wait + 11 * base_time
    assert not wait + 10 * time < base_wait + 10 * base_time


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("libraries, nice -20", "OMP_WAIT_POLICY=PASSIVE, nice -20", False),
        ("libraries", "libraries, nice -20", True),
        ("libraries", "OMP_WAIT_POLICY=PASSIVE, nice -20", True),
        (None, "OMP_WAIT_POLICY=PASSIVE, nice -20", False),
    ],
)
def test_policies_that_differ_in_variables_alone_are_compared(old, new, differs):
    assert (incomparable({"policy": old}, {"policy": new}) is not None) == differs


def test_unknown_is_never_equal_and_versions_may_differ():
    old, new = {"torch": "2.8", "threads": 2, "seed": None}, {"torch": "2.9", "threads": None, "seed": None}
    assert [found.field for found in differences(old, new)] == ["torch", "threads"]
    assert incomparable(old, new) == "threads differs: 2 and unknown"
    assert incomparable({"torch": "2.8"}, {"torch": "2.9"}) is None
