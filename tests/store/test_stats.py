"""Expected values are computed by hand or with numpy and scipy."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from store.stats.geomean import geomean, t_quantile
from store.stats.median import half_width, median, median_interval
from tests.store.oracle import peer, warmup
from tests.store.oracle.measures import quantile, spread
from tests.store.oracle.ratio import Estimate, speedup

seconds = st.floats(min_value=1e-6, max_value=1e3)


def test_median_of_none_is_unknown():
    assert median([]) is None
    assert median([3.0, 1.0, 2.0, 10.0]) == 2.5


def test_half_width_is_a_share_of_the_median():
    assert half_width([8.0, 9.0, 10.0, 10.0, 10.0, 12.0]) == pytest.approx(0.2)
    assert half_width([1.0] * 5) is None
    assert half_width([0.0] * 6) is None


@pytest.mark.parametrize(
    ("count", "expected"),
    [(5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (11, (2, 10)), (12, (3, 10)), (20, (6, 15)), (30, (10, 21))],
)
def test_median_interval_has_the_ranks_of_the_published_table(count, expected):
    """Ranks as in Hahn and Meeker's table A.15 for 95 %, which are those of the sign test."""
    assert median_interval(list(range(1, count + 1))) == expected


@given(st.integers(min_value=6, max_value=300) | st.integers(min_value=301, max_value=50_000))
def test_median_interval_covers_95_percent_and_is_the_narrowest_such(count):
    low, high = median_interval(list(range(1, count + 1)))
    assert 1 - 2 * scipy_stats.binom.cdf(low - 1, count, 0.5) >= 0.95
    assert 1 - 2 * scipy_stats.binom.cdf(low, count, 0.5) < 0.95
    assert high == count + 1 - low


@given(st.lists(seconds, min_size=1, max_size=50), st.floats(min_value=0, max_value=1))
def test_quantile_is_numpys(values, share):
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), rel=1e-9)


def test_spread_is_relative_to_the_median():
    assert spread([1.0]) is None
    assert spread([0.0, 0.0]) is None
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx((4 - 2) / 3)


def test_geomean_of_golden_ratios():
    found = geomean([1.0, 2.0, 4.0])
    half = 4.302652729911275 * math.log(2) / math.sqrt(3)
    assert found.value == pytest.approx(2.0)
    assert found.low == pytest.approx(2 * math.exp(-half))
    assert found.high == pytest.approx(2 * math.exp(half))


def test_geomean_of_one_has_no_interval_and_of_none_is_unknown():
    assert geomean([3.0]) == (pytest.approx(3.0), None, None)
    assert geomean([]) is None


def test_geomean_refuses_what_has_no_logarithm():
    with pytest.raises(ValueError, match=r"math domain error|expected a positive input"):
        geomean([1.0, 0.0])


def test_t_quantile_is_the_tables():
    assert t_quantile(1) == pytest.approx(12.706, abs=1e-3)
    assert t_quantile(30) == pytest.approx(2.042, abs=1e-3)


def test_speedup_of_golden_intervals():
    """ln 2 ± √(ln²1.1 + ln²1.2) on the log scale."""
    found = speedup(Estimate(2.0, 2.0 / 1.1, 2.0 * 1.1), Estimate(1.0, 1 / 1.2, 1.2))
    half = math.hypot(math.log(1.1), math.log(1.2))
    assert found.value == 2.0
    assert found.low == pytest.approx(2 * math.exp(-half))
    assert found.high == pytest.approx(2 * math.exp(half))


def test_speedup_without_an_interval_on_one_side_has_none():
    assert speedup(Estimate(2.0, None, None), Estimate(1.0, 0.9, 1.1)) == (2.0, None, None)


@given(st.lists(seconds, max_size=20))
def test_peer_rule_is_the_aggregators(total_time):
    execution = peer.execution(total_time)
    if len(total_time) <= 3:
        assert execution is None
    else:
        assert execution.avg == np.average(total_time[3:])
        assert execution.std == (np.std(total_time[3:], ddof=1) if len(total_time) > 4 else 0.0)
    compilation = peer.compilation(total_time)
    if len(total_time) <= 1:
        assert compilation is None
    else:
        assert compilation == (total_time[0] - np.average(total_time[1:]), 0.0)


def test_warmup_costs_of_golden_blocks():
    assert warmup.first_iteration(1.5, 0.5) == 1.0
    assert warmup.time_to_steady([1.5, 0.75], 0.5, [1, 4]) == pytest.approx(2.0)


@given(st.lists(seconds, min_size=3, max_size=30))
def test_geomean_interval_is_that_of_the_mean_log(ratios):
    found = geomean(ratios)
    logs = np.log(ratios)
    assert math.log(found.value) == pytest.approx(statistics.fmean(logs), abs=1e-9)
    low, high = scipy_stats.t.interval(0.95, len(ratios) - 1, np.mean(logs), scipy_stats.sem(logs) or 1e-300)
    assert math.log(found.low) == pytest.approx(low, abs=1e-6)
    assert math.log(found.high) == pytest.approx(high, abs=1e-6)
