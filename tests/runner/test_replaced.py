"""Fallback ops that are replaced, in real benchmark processes."""

import pytest
from real_processes import NEEDS

from runner.process.timed_step import classify

pytestmark = NEEDS
LAZY = "openxla+lazytensor"


@pytest.fixture
def bicubic(measure):
    def run(**changes):
        return measure(LAZY, "bicubic", suite_name="telling", **changes)

    return run


def test_a_decomposition_stands_in_for_an_op_that_falls_back(bicubic):
    """Beside it, the same configuration as it is: the record names its experiment."""
    ordinary, replaced = bicubic(), bicubic(without_fallback=("upsample_bicubic2d",))
    assert [op.op for op in ordinary.fallback_ops] == ["upsample_bicubic2d"]
    assert (ordinary.instead_of, ordinary.replacements) == (None, [])
    assert replaced.fallback_ops == []
    (stand_in,) = replaced.replacements
    assert (stand_in.op, stand_in.way) == ("upsample_bicubic2d", "decomposition")
    assert stand_in.calls > 0
    assert "upsample_bicubic2d" in stand_in.source
    assert replaced.instead_of == ordinary.experiment_id
    assert replaced.experiment.without_fallback == ["upsample_bicubic2d"]
    assert replaced.variant == f"{LAZY} without-fallback=upsample_bicubic2d"


def test_a_lowering_on_request_is_switched_on_in_its_process_only(measure):
    replaced = measure(LAZY, "dummy_nonzero", without_fallback=("nonzero",))
    assert classify("nonzero") == "opt_in_lowering"
    assert replaced.fallback_ops == []
    assert replaced.environment.variables["XLA_EXPERIMENTAL"] == "nonzero"
    assert [(each.way, each.calls) for each in replaced.replacements] == [("opt_in", None)]
    ordinary = measure(LAZY, "dummy_nonzero")
    assert "XLA_EXPERIMENTAL" not in ordinary.environment.variables
    assert [op.op for op in ordinary.fallback_ops] == ["nonzero"]


def test_a_decomposition_that_calls_the_op_itself_is_an_error_and_no_endless_loop(measure):
    record = measure(LAZY, "lgamma", "eval", "compile_error", suite_name="telling", without_fallback=("lgamma",))
    assert record.error.type == "NotReplaced"
    assert "torch's decomposition of it calls lgamma itself" in record.error.message


def test_an_op_that_this_torch_cannot_decompose_is_a_load_error(measure):
    record = measure(LAZY, "dummy", "eval", "load_error", without_fallback=("scatter_reduce.two",))
    assert "this version of torch has no decomposition" in record.error.message
