"""When a warm-up is over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.process.samples import SMALL_CHANGE, has_trend, is_steady, steady_start

times_lists = st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("times", "trend"),
    [
        ([1.0, 1.0, 1.0, 1.0], False),
        ([4.0, 3.0, 2.0, 1.0], True),
        ([1.0, 2.0, 3.0, 4.0], True),
        ([1.0, 2.0, 1.5, 1.6], False),
        ([1.00, 1.01, 1.03, 1.04], False),
        ([1.00, 1.01, 1.10, 1.11], True),
        ([2.0, 1.0], True),
        ([3.0, 2.0, 1.0], True),
    ],
)
def test_a_trend_needs_halves_apart_by_more_than_five_percent(times, trend):
    assert has_trend(times) is trend


@given(times_lists, st.randoms())
def test_a_trend_is_a_matter_of_order_between_the_halves_only(times, random):
    """Shuffling within a half changes nothing, and neither does another unit of time."""
    middle = len(times) // 2
    old, new = times[:middle], times[middle:]
    random.shuffle(old)
    random.shuffle(new)
    assert has_trend(old + new) == has_trend(times)
    assert has_trend([1024 * time for time in times]) == has_trend(times)


@given(st.floats(1e-6, 1e3), st.lists(st.floats(1 - SMALL_CHANGE / 4, 1 + SMALL_CHANGE / 4), min_size=2, max_size=30))
def test_small_noise_is_no_trend(level, noise):
    assert not has_trend([level * factor for factor in noise])


def test_enough_equal_blocks_are_steady():
    """The first block never counts among those that have to agree."""
    assert is_steady([9.0, 1.0, 1.0, 1.0, 1.0], [3, 0, 0, 0, 0], minimum=5, window=4)
    assert not is_steady([9.0, 1.0, 1.0, 1.0], [3, 0, 0, 0], minimum=3, window=4)
    assert not is_steady([9.0, *[1.0] * 8], [0] * 9, minimum=10, window=4)


@pytest.mark.parametrize("position", [-1, -2, -3, -4])
def test_a_compilation_in_the_window_is_not_steady(position):
    compiles = [0] * 10
    compiles[position] = 1
    assert not is_steady([1.0] * 10, compiles, minimum=5, window=4)


def test_a_compilation_before_the_window_is_over():
    assert is_steady([1.0] * 10, [1, 1, 1, 0, 0, 1, 0, 0, 0, 0], minimum=5, window=4)


def test_a_backend_that_reports_no_compilations_is_judged_by_its_times():
    assert is_steady([1.0] * 6, [None] * 6, minimum=5, window=4)
    assert not is_steady([9.0, 9.0, 8.0, 8.0, 2.0, 2.0], [None] * 6, minimum=5, window=4)


def test_times_that_still_fall_are_not_steady():
    """PyTorch/XLA's second iteration often compiles again: 1526, 415, 0 ms."""
    assert not is_steady([1526.0, 415.0, 300.0, 200.0, 100.0], [1, 1, 0, 0, 0], minimum=3, window=4)


@given(times_lists, st.integers(1, 8), st.integers(2, 8), st.data())
def test_what_is_steady_had_no_compilation_and_no_trend_in_its_window(times, minimum, window, data):
    compiles = data.draw(st.lists(st.sampled_from([None, 0, 0, 0, 1]), min_size=len(times), max_size=len(times)))
    steady = is_steady(times, compiles, minimum, window)
    assert steady == (
        len(times) >= minimum and len(times) > window and not any(compiles[-window:]) and not has_trend(times[-window:])
    )


@pytest.mark.parametrize(
    ("times", "compiles", "start"),
    [
        ([9, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0], 1),
        ([9, 5, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0], 2),
        ([9, 8, 7, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0, 0], 3),
        ([9, 4, 4, 4, 1, 1, 1], [1, 0, 0, 0, 0, 0, 0], 4),
        ([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], [1] + [0] * 9, None),
        ([9, 2, 1], [1, 0, 0], 1),
        ([9, 8, 1], [1, 1, 0], 2),
        ([9, 8, 7], [1, 1, 1], None),
        ([9, 8, 7, 6, 5], [1, 0, 0, 0, 0], 1),
        ([9, 8, 7, 6, 5, 4], [1, 0, 0, 0, 0, 0], None),
        ([9, 1.04, 1, 1, 1], [1, 0, 0, 0, 0], 1),
        ([9, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 1], None),
        ([9, 1, 1], [1, 0, 0], 1),
        ([9, 1], [1, 0], 1),
        ([9], [1], None),
        ([9, 1, 1, 1, 1, 1], [None] * 6, 1),
    ],
)
def test_the_steady_part_of_a_fixed_number_of_blocks(times, compiles, start):
    assert steady_start(times, compiles, 4) == start


@given(times_lists, st.integers(2, 6), st.data())
def test_the_steady_part_never_holds_the_first_block_nor_a_compilation(times, window, data):
    compiles = data.draw(st.lists(st.sampled_from([0, 0, 0, 2]), min_size=len(times), max_size=len(times)))
    start = steady_start(times, compiles, window)
    if start is not None:
        assert start >= 1
        assert not any(compiles[start:])
        assert len(times) - start >= 1


@given(st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=5))
def test_few_blocks_give_a_number(times):
    """A run with `--repeat 3` measures; `few_blocks` says how little that is worth."""
    assert steady_start(times, [1] + [0] * (len(times) - 1), 4) is not None
