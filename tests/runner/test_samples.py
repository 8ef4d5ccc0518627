"""Timed blocks and what is made of them."""

import pytest
from runner_makers import block, xla_block

from runner.process.samples import Samples, call_difference, difference
from runner.workload import Counters


def samples(*blocks, iterations=1):
    """Return samples of a first block, one of warm-up, and steady ones."""
    made = Samples(iterations)
    for index, each in enumerate(blocks):
        made.add(each, "steady" if index > 1 else "warmup", 0)
    return made


def test_the_first_block_is_first_whatever_it_is_called():
    made = samples(block(), block(), block())
    assert made.kinds == ["first", "warmup", "steady"]


def test_eager_has_the_two_metrics_of_the_peer():
    """Times are per block, and per iteration beside it."""
    made = samples(block(4.0), block(2.0), iterations=4)
    assert made.metrics() == {"total_time": [4.0, 2.0], "per_iter_time": [1.0, 0.5]}


def test_xla_adds_trace_time_and_its_own_counts():
    made = samples(xla_block(8.0, compiles=2, compile_s=5.0), xla_block(2.0, trace_s=0.5), xla_block(2.0), iterations=2)
    assert made.metrics() == {
        "total_time": [8.0, 2.0, 2.0],
        "per_iter_time": [4.0, 1.0, 1.0],
        "trace_total_time": [2.0, 0.5, 0.5],
        "trace_per_iter_time": [1.0, 0.25, 0.25],
        "xla_CompileTime_time_s": [5.0, 0.0, 0.0],
        "xla_CompileTime_number": [2.0, 0.0, 0.0],
        "xla_ExecuteTime_time_s": [4.0, 1.0, 1.0],
        "xla_ExecuteTime_number": [1.0, 1.0, 1.0],
    }


def test_every_metric_is_as_long_as_the_blocks():
    made = samples(*[xla_block() for _ in range(7)])
    assert {len(values) for values in made.metrics().values()} == {7}


def test_no_block_gives_no_number():
    assert Samples(1).metrics() == {"total_time": [], "per_iter_time": []}


def test_trace_time_is_left_out_where_steady_blocks_read_from_the_device():
    """A step that asks for a value waits for the execution: its host time is no trace time."""
    reads = {"_local_scalar_dense": 1}
    assert "trace_total_time" not in samples(xla_block(), xla_block(), xla_block(fallback_calls=reads)).metrics()
    assert "trace_total_time" in samples(xla_block(fallback_calls=reads), xla_block(), xla_block()).metrics()


def test_trace_time_is_left_out_where_nothing_is_steady_and_warm_up_reads():
    """Without a steady block the warm-up says whether the step reads."""
    reads = {"nonzero": 1}
    assert "trace_total_time" not in samples(xla_block(), xla_block(fallback_calls=reads)).metrics()


def test_spoiling_turns_steady_into_warm_up_and_nothing_else():
    made = samples(*[block() for _ in range(4)])
    made.spoil_steady()
    assert made.kinds == ["first", "warmup", "warmup", "warmup"]
    assert made.of_kind("steady") == []
    assert len(made.of_kind("first", "warmup")) == 4


@pytest.mark.parametrize(
    ("before", "after", "between"),
    [
        ((2, 5), (3, 9), (1, 4)),
        ((2, 5), (2, 5), (0, 0)),
        ((None, None), (1, 2), (1, 2)),
        ((7, 9), (1, 3), (1, 3)),
        ((None, None), (None, None), (None, None)),
        ((1, 1), (None, 2), (None, 1)),
    ],
)
def test_counts_between_two_readings(before, after, between):
    """A counter that was cleared in between counts from zero; one that is not reported stays unknown."""
    assert difference(Counters(*before), Counters(*after)) == Counters(*between)


@pytest.mark.parametrize(
    ("before", "after", "calls"),
    [
        ({}, {"nonzero": 2}, {"nonzero": 2}),
        ({"nonzero": 2}, {"nonzero": 2}, {}),
        ({"nonzero": 2}, {"nonzero": 5, "sort": 1}, {"nonzero": 3, "sort": 1}),
        ({"nonzero": 5}, {"nonzero": 1}, {"nonzero": 1}),
        ({"nonzero": 5, "sort": 1}, {"sort": 2}, {"sort": 2}),
        ({"nonzero": 5}, {}, {}),
    ],
)
def test_calls_between_two_readings(before, after, calls):
    """The dynamo bridge clears all counters while it compiles; one that fell shows it for all."""
    assert call_difference(before, after) == calls


def test_a_new_graph_is_a_change_even_where_its_program_is_known():
    """Dynamo may trace anew and XLA find the program in its cache: such a block is no steady one."""
    made = samples(xla_block(compiles=1, graphs=1), xla_block(compiles=0, graphs=1), xla_block(compiles=0, graphs=0))
    assert made.changes == [2, 1, 0]
    assert made.of_record([]).compiles == [1, 0, 0]


def test_trace_time_is_left_out_where_the_step_transfers_a_result():
    """`.cpu()` in a step is no fallback op, yet its trace contains execution."""
    made = samples(xla_block(), xla_block(device_reads=1), xla_block(device_reads=1))
    assert "trace_total_time" not in made.metrics()
