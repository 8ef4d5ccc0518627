"""Ops that ran outside the compiler."""

import pytest
from runner_makers import xla_block

from runner.process.samples import Samples
from runner.process.timed_step import classify, summarize_fallbacks


def samples(*calls, steady_from, iterations=1):
    made = Samples(iterations)
    for index, each in enumerate(calls):
        made.add(xla_block(fallback_calls=each), "steady" if index >= steady_from else "warmup", 0)
    return made


@pytest.mark.parametrize(
    ("op", "klass"),
    [
        ("nonzero", "opt_in_lowering"),
        ("masked_select", "opt_in_lowering"),
        ("_local_scalar_dense", "host_read"),
        ("upsample_bicubic2d", "no_lowering"),
        ("_fft_r2c.out", "no_lowering"),
        ("nonzero.out", "opt_in_lowering"),
        ("_local_scalar_dense.overload", "host_read"),
    ],
)
def test_the_class_of_an_op(op, klass):
    """An overload is of its op's class."""
    assert classify(op) == klass


def test_calls_per_iteration_come_from_steady_blocks_only():
    """Calls while compiling are told apart; an average over both would be an artefact."""
    (found,) = summarize_fallbacks(
        samples({"nonzero": 9}, {"nonzero": 6}, {"nonzero": 4}, {"nonzero": 8}, steady_from=2)
    )
    assert (found.op, found.calls_per_iteration, found.calls_compile) == ("nonzero", 6.0, 15)
    assert found.time_s is None


def test_calls_are_divided_by_the_iterations_of_the_blocks():
    (found,) = summarize_fallbacks(samples({}, {"nonzero": 4}, {"nonzero": 4}, steady_from=1, iterations=4))
    assert found.calls_per_iteration == 1.0


def test_an_op_that_only_compiling_called_is_zero_per_iteration():
    (found,) = summarize_fallbacks(samples({"sort": 3}, {}, {}, steady_from=1))
    assert (found.calls_per_iteration, found.calls_compile) == (0.0, 3)


def test_ops_are_sorted_by_name_and_an_op_missing_from_a_block_counts_zero():
    found = summarize_fallbacks(samples({}, {"b": 1, "a": 2}, {"a": 2}, steady_from=1))
    assert [(each.op, each.calls_per_iteration) for each in found] == [("a", 2.0), ("b", 0.5)]


def test_no_fallback_gives_nothing():
    assert summarize_fallbacks(samples({}, {}, {}, steady_from=1)) == []
