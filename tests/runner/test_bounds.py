"""What waits for a core say of the latency of a result that other programs disturbed too much for a number."""

import pytest

from runner.messages import ProcessReport
from runner.schedule.delays import latency_bounds
from runner.schedule.quiet import OWN_WAITING, SLOW_CORE, WAITS
from store.record import Blocks


def report(blocks, **facts):
    """Return a report of blocks (kind, seconds, seconds that all threads waited)."""
    kinds, times, waits = zip(*blocks, strict=True)
    return ProcessReport(
        metrics={"total_time": list(times)},
        blocks=Blocks(kind=list(kinds), round=[0] * len(kinds), wait_all_s=list(waits), **facts),
        fallback_ops=[],
        graph_breaks=[],
        warnings=[],
        invalid=None,
    )


def test_the_time_with_and_without_the_waits_bound_the_latency():
    """Blocks of one iteration take 10 ms of work, and up to 10 ms of waiting."""
    waits = [0.000, 0.002, 0.004, 0.005, 0.006, 0.006, 0.007, 0.008, 0.009, 0.010]
    blocks = [("first", 1.0, 0.5), ("warmup", 0.5, None)]
    blocks += [("steady" if waited < 0.003 else "disturbed", 0.010 + waited, waited) for waited in waits]
    low, high = latency_bounds(report(blocks), [None, WAITS], 1)
    assert low == pytest.approx(0.010)
    assert 0.015 < high <= 0.020


def test_waits_of_a_block_are_shared_by_its_inner_loops_and_iterations():
    blocks = [("disturbed", 0.020, 0.050)] * 8
    low, high = latency_bounds(report(blocks, inner_loops=[5] * 8), [WAITS], 2)
    assert (low, high) == (pytest.approx(0.005), pytest.approx(0.010))


@pytest.mark.parametrize(
    ("blocks", "reasons"),
    [
        ([("disturbed", 0.02, 0.01)] * 8, [WAITS, SLOW_CORE]),
        ([("disturbed", 0.02, 0.01)] * 8, [OWN_WAITING]),
        ([("disturbed", 0.02, 0.01)] * 7 + [("disturbed", 0.02, None)], [WAITS]),
        ([("disturbed", 0.02, 0.01)] * 5, [WAITS]),
        ([("disturbed", 0.02, 0.03)] * 8, [WAITS]),
    ],
    ids=["a slow core", "its own waiting", "unknown waits", "too few blocks", "more waits than time"],
)
def test_what_waits_do_not_bound_is_unknown(blocks, reasons):
    assert latency_bounds(report(blocks), reasons, 1) is None
