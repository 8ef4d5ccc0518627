"""Intervals and p-values of log-ratios; expected values from scipy, and from simulations with a fixed seed."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats as scipy_stats

from store.stats.effects import (
    effects,
    false_discovery,
    nan_median,
    paired_log_ratios,
    round_variance,
    variance_of_median,
)


def test_without_prior_knowledge_it_is_students_t():
    """The degrees of freedom of the prior are 0: mean, interval and p are those of a one-sample t-test."""
    values = np.array([[0.02, 0.05, 0.03, 0.06], [-0.01, 0.02, 0.0, -0.03]])
    found = effects(values, 1.0, 0.0)
    for cell, row in enumerate(values):
        expected = scipy_stats.ttest_1samp(row, 0)
        interval = expected.confidence_interval(0.95)
        assert found.p[cell] == pytest.approx(expected.pvalue)
        assert (found.low[cell], found.high[cell]) == pytest.approx((interval.low, interval.high))


def test_prior_and_processes_are_pooled_by_their_degrees_of_freedom():
    """Variance (8·0.0004 + 0.0002) / 9 over two processes, on nine degrees of freedom."""
    found = effects([[0.01, 0.03]], 0.0004, 8.0)
    assert found.std_error[0] == pytest.approx(math.sqrt((8 * 0.0004 + 0.0002) / 9 / 2))
    assert found.freedom[0] == 9


def test_one_process_rests_on_the_prior_alone():
    found = effects([[0.05, np.nan, np.nan]], 0.0001, 10.0)
    assert (found.processes[0], found.freedom[0]) == (1, 10)
    assert found.std_error[0] == pytest.approx(0.01)


def test_a_cell_without_processes_or_knowledge_is_unknown():
    found = effects([[np.nan, np.nan], [0.01, np.nan]], 0.01, [5.0, 0.0])
    assert np.isnan(found.low).all()
    assert np.isnan(found.p).all()


def test_days_apart_widen_the_interval():
    near, far = effects([[0.01, 0.02]], 0.0001, 9.0), effects([[0.01, 0.02]], 0.0001, 9.0, between_runs=0.0004)
    assert far.std_error[0] == pytest.approx(math.hypot(near.std_error[0], 0.02))


def test_identical_sides_are_called_different_as_often_as_promised():
    """10,000 A/A cells of three processes, the scatter known from 20 others: 5 % are off, give or take 3 errors."""
    random = np.random.default_rng(7)
    known_from = np.mean(random.normal(0, 0.01, (10_000, 20)) ** 2, axis=1)
    found = effects(random.normal(0, 0.01, (10_000, 3)), known_from, 20.0)
    outside = float(np.mean((found.low > 0) | (found.high < 0)))
    assert abs(outside - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 10_000)


def test_a_prior_that_the_cell_itself_refutes_is_not_used():
    """Three processes scatter a hundred times as far as the calibration: Student's t of the three alone remains."""
    values = [[1.0, -0.5, 0.6]]
    alone, refuted = effects(values, 1.0, 0.0), effects(values, 0.0001, 18.0)
    assert (refuted.low[0], refuted.high[0], refuted.freedom[0]) == (alone.low[0], alone.high[0], 2)


def test_no_process_is_known_better_than_its_rounds_allow():
    calm, restless = effects([[0.02, 0.02]], 1e-6, 9.0), effects([[0.02, 0.02]], 1e-6, 9.0, within=[[0.0009, np.nan]])
    assert restless.std_error[0] == pytest.approx(math.sqrt(0.0009 / 2))
    assert (calm.low[0] > 0, restless.low[0] < 0) == (True, True)


def test_a_process_whose_rounds_disagree_counts_for_less():
    """One of three is far off, and its own rounds say that it may be: variances 0.0001, 0.0001 and 0.01."""
    found = effects([[-0.10, 0.05, -0.10]], 0.0001, 20.0, within=[[0.0001, 0.01, 0.0001]])
    assert found.log_ratio[0] == pytest.approx((-0.10 * 2 + 0.05 * 0.01) / 2.01)
    assert found.high[0] < 0
    assert effects([[-0.10, 0.05, -0.10]], 0.0001, 20.0).high[0] > 0


def test_weights_raise_no_false_alarms():
    """10,000 A/A cells of three processes, one of five ten times as restless as the calibration saw."""
    random = np.random.default_rng(11)
    scatter = np.where(random.random((10_000, 3, 1)) < 0.2, 0.2, 0.02)
    base, new = np.exp(random.normal(0, 1, (10_000, 3, 10)) * scatter), np.ones((10_000, 3, 10))
    between = random.normal(0, 0.01, (10_000, 3))
    ratios = paired_log_ratios(base, new) + between
    found = effects(ratios, 0.0001 + np.pi / 2 * 0.02**2 / 10, 20.0, within=round_variance(base, new))
    outside = float(np.mean((found.low > 0) | (found.high < 0)))
    assert outside < 0.05


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_bursts_that_the_calibration_never_saw_raise_no_false_alarms(share):
    """5,000 A/A cells of 3 processes and 5 rounds, some off by half; the calibration saw a quiet machine.

    Taken at its word, it would call one in four of them different.
    """
    random = np.random.default_rng(3)
    shape = (5_000, 3, 5)
    rounds = random.normal(0, 0.02, shape) + (random.random(shape) < share) * random.normal(0, 0.5, shape)
    base, new = np.exp(rounds), np.ones(shape)
    ratios = paired_log_ratios(base, new)
    found = effects(ratios, 0.0001, 18.0, within=round_variance(base, new))
    outside = float(np.mean((found.low > 0) | (found.high < 0)))
    assert outside < 0.05


def test_the_variance_of_a_median_is_that_of_samples_of_medians():
    """20,000 medians of seven normal rounds; π/2 holds for many rounds, for seven all in all a third too cautious."""
    rounds = np.random.default_rng(5).normal(0, 0.03, (20_000, 7))
    seen, told = float(np.var(np.median(rounds, axis=1))), float(np.mean(variance_of_median(rounds)))
    assert seen < told < 1.4 * seen
    assert np.isnan(variance_of_median([[0.1, np.nan]])).all()


def test_one_round_that_was_interrupted_hardly_changes_what_is_known_of_the_median():
    quiet = np.array([0.0, 0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015, 0.01])
    struck = np.where(np.arange(10) == 3, 5.0, quiet)
    assert variance_of_median([struck])[0] < 1.5 * variance_of_median([quiet])[0]


def test_rounds_are_paired_so_a_drift_common_to_both_sides_vanishes():
    """The machine slows by half within the process; each round still says that the new side takes 10 % less."""
    base = np.array([[1.0, 1.1, 1.3, 1.5]])
    assert paired_log_ratios(base, base * 0.9) == pytest.approx([-math.log(0.9)])


def test_missing_rounds_and_processes_are_left_out():
    base = [[1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]]
    new = [[2.0, 5.0, 4.0], [1.0, 1.0, 1.0]]
    found = paired_log_ratios(base, new)
    assert found[0] == pytest.approx(-math.log(2))
    assert np.isnan(found[1])


def test_false_discovery_is_benjamini_hochbergs_and_unknown_cells_do_not_count():
    p = [0.01, np.nan, 0.04, 0.03, 0.5]
    adjusted = false_discovery(p)
    assert np.isnan(adjusted[1])
    assert adjusted[[0, 2, 3, 4]] == pytest.approx([0.04, 0.04 * 4 / 3, 0.04 * 4 / 3, 0.5])
    assert np.isnan(false_discovery([np.nan])).all()


def test_medians_of_short_rows_are_those_of_numpy():
    rng = np.random.default_rng(7)
    for width in (1, 2, 3, 8, 9):
        values = rng.normal(size=(5, 40, width))
        values[rng.random(values.shape) < 0.3] = np.nan
        values[0, 0] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.nanmedian(values, axis=-1)
        np.testing.assert_array_equal(nan_median(values), expected)
    assert np.isnan(nan_median(np.empty((3, 0)))).all()
