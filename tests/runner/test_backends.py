"""The four backends in real benchmark processes: inductor on the suite `dummy`, the others on one linear layer."""

import statistics
from pathlib import Path

import pytest
from real_processes import ITERATIONS, LINEAR, NEEDS, steady
from runner_makers import config

from runner.backends import thread_variables
from tests.tiers import first_of

FOUR = ["eager", "inductor", "openxla+lazytensor", "openxla+dynamo"]

pytestmark = NEEDS


@pytest.fixture
def measured(measure):
    """Measure a backend on the smallest model that shows what it does: inductor makes no kernel for one layer."""
    return lambda backend: measure(backend, **({} if backend == "inductor" else LINEAR))


@pytest.mark.parametrize("backend", FOUR)
def test_a_backend_reaches_its_steady_state_and_compiles_no_more(measured, backend):
    record = measured(backend)
    blocks = record.measurement.blocks
    assert len(steady(record, blocks.kind)) == 5
    assert not any(steady(record, blocks.compiles))
    assert all(time > 0 for time in record.metrics["total_time"])
    assert record.environment.threads == 2
    assert record.environment.toolchain_probe_s > 0


@pytest.mark.parametrize("backend", FOUR[1:])
def test_a_compiler_compiles_in_its_first_block(measured, backend):
    """And takes longer for it than for a steady one: the median, as a busy machine may hold one up."""
    record = measured(backend)
    assert record.measurement.blocks.compiles[0] >= 1
    assert record.metrics["total_time"][0] > 2 * statistics.median(steady(record, record.metrics["total_time"]))


@pytest.mark.parametrize("backend", ["openxla+lazytensor", "openxla+dynamo"])
def test_xla_executes_at_least_once_per_iteration(measured, backend):
    record = measured(backend)
    assert min(steady(record, record.measurement.blocks.executions)) >= ITERATIONS
    assert record.metrics["xla_CompileTime_number"][0] >= 1
    assert record.metrics["xla_CompileTime_time_s"][0] > 0
    assert min(steady(record, record.metrics["trace_total_time"])) > 0


@pytest.mark.parametrize("backend", ["inductor", "openxla+dynamo"])
def test_dynamo_captures_a_graph_and_tells_its_compile_time(measured, backend):
    record = measured(backend)
    assert record.metrics["graphs_number"][0] >= 1
    assert 0 < record.metrics["dynamo_compile_time_s"][0] < record.metrics["total_time"][0] * 1.05


def test_inductor_tells_its_kernels(measured):
    capture, generated = measured("inductor").graphs
    assert (capture.kind, capture.op_histogram) == ("fx", {"linear": 3, "relu": 2, "softmax": 1})
    assert generated.kind == "inductor"
    assert generated.op_histogram["addmm"] == 3
    assert generated.fusions >= 1


@pytest.mark.parametrize("backend", ["eager", "openxla+lazytensor"])
def test_without_dynamo_nothing_is_told_of_it(measured, backend):
    assert not {"graphs_number", "dynamo_compile_time_s"} & set(measured(backend).metrics)


@pytest.mark.parametrize("backend", first_of(["openxla+dynamo", "openxla+lazytensor", "eager"]))
def test_train_runs_on_every_kind_of_runtime(measure, backend):
    """Those that are thorough train in backends/test_effects.py and suites/operators/test_measure.py as well."""
    record = measure(backend, test="train", **LINEAR)
    assert record.experiment.resolved_loss == "mean"
    assert not record.graph_breaks


def test_every_process_has_a_fresh_inductor_cache_that_does_not_stay(measure):
    """Else the second experiment would find what the first one compiled, and call it a cold start."""
    fails_soon = {"model": "tell", "suite_name": "telling", "status": "compile_error"}
    folders = [
        Path(measure("inductor", **asked).environment.variables["TORCHINDUCTOR_CACHE_DIR"])
        for asked in ({}, fails_soon)
    ]
    assert folders[0] != folders[1]
    assert not any(folder.exists() or folder.parent.exists() for folder in folders)


@pytest.mark.parametrize(("backend", "asked"), [("openxla+lazytensor", "2"), ("openxla+dynamo", "2"), ("eager", None)])
def test_the_number_of_threads_is_that_of_every_backend(measured, backend, asked):
    """A call sets torch's own threads; XLA's CPU client reads a variable."""
    assert measured(backend).environment.variables.get("NPROC") == asked


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({}, None),
        ({"OMP_NUM_THREADS": "1"}, "1"),
        ({"OMP_NUM_THREADS": "3,2"}, "3"),
        ({"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "1"}, "1"),
        ({"OMP_NUM_THREADS": "none"}, None),
        ({"OMP_NUM_THREADS": "1", "NPROC": "4"}, None),
    ],
)
def test_a_users_limit_of_torchs_threads_is_xlas_as_well(monkeypatch, variables, number):
    """XLA's CPU client does not read `OMP_NUM_THREADS`: it computed on all cores beside one thread of eager."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    of_xla = config("openxla+dynamo", "m", suite_name="dummy")
    assert thread_variables(of_xla, None).get("NPROC") == number
    assert thread_variables(of_xla, 2) == {"NPROC": "2"}
    assert thread_variables(config("eager", "m", suite_name="dummy"), None) == {}


def test_a_users_own_xla_cache_is_never_used(measured, user_cache):
    assert measured("openxla+lazytensor").environment.variables["XLA_PERSISTENT_CACHE_PATH"] == ""
    assert list(user_cache.iterdir()) == []


def test_an_op_that_xla_does_not_lower_is_counted_per_iteration(measure):
    """`nonzero` runs once in each iteration; its step reads from the device, so there is no trace time."""
    record = measure("openxla+lazytensor", model="dummy_nonzero")
    (op,) = record.fallback_ops
    assert (op.op, op.klass, op.calls_per_iteration) == ("nonzero", "opt_in_lowering", 1.0)
    assert op.calls_compile > 0
    assert "trace_total_time" not in record.metrics
    assert "total_time" in record.metrics


def test_without_such_an_op_nothing_is_counted(measured):
    assert measured("openxla+lazytensor").fallback_ops == []
    assert measured("openxla+dynamo").fallback_ops == []


def test_lazy_tensors_really_compute(measured):
    """A result that was dropped before the cut would leave nothing to execute and seem many times faster."""
    record = measured("openxla+lazytensor")
    assert sum(steady(record, record.metrics["xla_ExecuteTime_time_s"])) > 0


@pytest.mark.parametrize("backend", FOUR)
def test_memory_is_told_for_set_up_and_for_the_steady_part(measured, backend):
    record = measured(backend)
    assert record.metrics["setup_peak_memory_bytes"][0] > 2**20
    assert record.metrics["peak_memory_bytes"][0] > 0
