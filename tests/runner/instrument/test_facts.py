"""Graph facts and call sites of real timed processes."""

import pytest
from real import NEEDS, measured
from real_processes import LINEAR

pytestmark = NEEDS


def hlo_of(report):
    return [each for each in report.graphs if each.kind == "hlo"]


@pytest.fixture(scope="module")
def measure(pool, tmp_path_factory):
    def run(backend, **fields):
        folder = tmp_path_factory.mktemp("facts") / "x"
        folder.mkdir()
        return measured(pool, folder, backend, fields=fields, collect_dynamo_counters=True)

    return run


@pytest.fixture(scope="module")
def lazy(measure):
    return measure("openxla+lazytensor", model="dummy_nonzero")


@pytest.fixture(scope="module")
def bridged(measure):
    return measure("openxla+dynamo", model="dummy_nonzero")


def test_the_program_of_a_lazy_iteration_is_described(lazy):
    """The first layer computes 16 rows, the second the 8 that were selected."""
    (graph,) = hlo_of(lazy)
    assert graph.op_histogram["dot"] == 2
    assert graph.flops == 2 * (16 + 8) * 32 * 32
    assert graph.ops == sum(graph.op_histogram.values())


def test_another_batch_size_is_another_program(measure, lazy):
    (other,) = hlo_of(measure("openxla+lazytensor", model="dummy_nonzero", batch_size=8))
    assert other.fingerprint != hlo_of(lazy)[0].fingerprint
    assert other.flops == hlo_of(lazy)[0].flops / 2


def test_the_bridge_compiles_what_dynamo_captured(bridged, lazy):
    """And here the same program, with an equal fingerprint, as lazy tensors: the capture changes nothing in it."""
    (capture,) = [each for each in bridged.graphs if each.kind == "fx"]
    assert capture.op_histogram["linear"] == 2
    assert hlo_of(bridged) == hlo_of(lazy)


def test_a_fallback_op_names_the_line_that_asks_for_it(lazy, bridged):
    for report in (lazy, bridged):
        (op,) = report.fallback_ops
        assert op.op == "nonzero"
        assert op.call_site.startswith("runner/suites/dummy_modules.py:")
        assert op.call_site.endswith(" in forward")


def test_looking_at_graphs_comes_after_the_last_timed_block(lazy):
    """What it executes or compiles stands in no metric."""
    assert len(lazy.metrics["total_time"]) == len(lazy.blocks.kind) == 8
    assert lazy.blocks.compiles[-1] == 0
    assert lazy.warnings == []


def test_dynamos_counters_are_a_metric_on_request(bridged):
    (counters,) = bridged.metrics["dynamo_counters"]
    assert counters["stats"]["unique_graphs"] == 1


def test_the_gradients_of_a_train_step_are_part_of_its_program(measure):
    """Forward: a product; backward: one for the weights."""
    (graph,) = hlo_of(measure("openxla+lazytensor", test="train", **LINEAR))
    assert graph.op_histogram["dot"] == 2


def test_eager_compiles_nothing(measure):
    assert measure("eager", **LINEAR).graphs == []
