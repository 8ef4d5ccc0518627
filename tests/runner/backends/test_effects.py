"""What a setting does, seen in the record of a real benchmark process."""

import json
from pathlib import Path

import pytest
from real_processes import ITERATIONS, LINEAR, NEEDS, steady

from tests.runner.telling_suite import BATCH, FEATURES
from tests.tiers import first_of

pytestmark = NEEDS
ON_XLA = ["openxla+lazytensor", "openxla+dynamo"]
WEIGHTS = FEATURES * FEATURES + FEATURES
FLOAT, INDEX = 4, 8


def teller(measure, backend="eager", **changes):
    """Return the record of the model that tells, by the error that it raises, what holds inside its process."""
    status = "run_error" if backend == "eager" and "dynamo" not in changes else "compile_error"
    return measure(backend, "tell", suite_name="telling", status=status, **changes)


def process_state(measure, backend="eager", **changes):
    """Return what holds inside a benchmark process."""
    text = teller(measure, backend, **changes).error.message
    return json.loads(text[text.index("{") : text.index("}") + 1])


def programs(record, kind):
    return [graph.fingerprint for graph in record.graphs if graph.kind == kind]


@pytest.fixture
def linear(measure):
    """Measure the smallest model."""

    def run(backend, **changes):
        return measure(backend, **LINEAR, **changes)

    return run


PRODUCTS = {"matmul_precision": "high"}
"""Asked for where only autocast is looked at, too: what a process tells of both takes one process."""


@pytest.mark.parametrize(("asked", "found"), first_of([(None, "torch.bfloat16"), ("float16", "torch.float16")]))
def test_amp_lowers_to_the_dtype_asked_for(measure, asked, found):
    assert process_state(measure, dtype="amp", amp_dtype=asked, **PRODUCTS)["autocast"] == found
    assert process_state(measure, disable_tf32=True, **PRODUCTS)["autocast"] is None


@pytest.mark.parametrize("backend", first_of(ON_XLA))
def test_amp_is_another_program(linear, backend):
    assert programs(linear(backend, dtype="amp"), "hlo") != programs(linear(backend), "hlo")


def test_tf32_is_off_where_it_was_on(measure):
    """Products and convolutions; the record keeps what was in effect."""
    with_it = teller(measure, dtype="amp", amp_dtype=None, **PRODUCTS).environment.variables
    without = teller(measure, disable_tf32=True, **PRODUCTS).environment.variables
    names = ["torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32"]
    assert [with_it[name] for name in names] == ["True", "True"]
    assert [without[name] for name in names] == ["False", "False"]
    assert without["torch.float32_matmul_precision"] == "highest"


@pytest.mark.parametrize(
    ("precision", "written"),
    first_of([("high", "high,high"), ("default", None), ("highest", "highest,highest"), ("medium", None)], 2),
)
@pytest.mark.parametrize("backend", first_of(ON_XLA))
def test_the_precision_of_products_reaches_xla(linear, tmp_path, backend, precision, written):
    """As XLA's own dump of the program says it; PyTorch/XLA's default is not written.

    It lies where the child's flags say, on the device that the child was told, not on the server's.
    """
    record = linear(backend, matmul_precision=precision, xla_flags=(f"--xla_dump_to={tmp_path}",))
    assert record.environment.variables["XLA_FLAGS"] == f"--xla_dump_to={tmp_path}"
    assert record.environment.variables["PJRT_DEVICE"] == "CPU"
    dumped = "".join(path.read_text() for path in Path(tmp_path).glob("*before_optimizations.txt"))
    assert "dot(" in dumped
    assert ("operand_precision" in dumped) == (written is not None)
    assert written is None or f"operand_precision={{{written}}}" in dumped


OVERRIDES = {
    "dynamo.recompile_limit": "3", "inductor.max_autotune": "true", "inductor.triton.cudagraphs": "True",
}  # fmt: skip


def test_overrides_hold_in_the_process(measure):
    found, plain = process_state(measure, "inductor", overrides=OVERRIDES), process_state(measure, "inductor")
    assert (found["cache_size_limit"], found["max_autotune"]) == (3, True)
    assert (plain["cache_size_limit"], plain["max_autotune"]) == (8, False)


def test_an_override_wins_over_the_setting_of_its_own_flag(measure):
    assert process_state(measure, "inductor", cudagraphs=True)["cudagraphs"] is True
    assert process_state(measure, "inductor")["cudagraphs"] is False
    assert process_state(measure, "inductor", overrides=OVERRIDES)["cudagraphs"] is True


def test_an_override_that_does_not_exist_is_a_load_error_with_close_names(measure):
    record = measure("inductor", overrides={"inductor.max_autotun": "1"}, status="load_error")
    assert "has no setting max_autotun. Did you mean max_autotune" in record.error.message


@pytest.mark.parametrize(
    "setting", first_of([{"dynamic_shapes": True, "dynamic_batch_only": True}, {"dynamic_shapes": True}])
)
def test_dynamic_shapes_are_another_capture(linear, setting):
    """The size of the batch is a symbol in it; every compiler is given the same."""
    found = [programs(linear("eager", dynamo="aot_eager", **each), "fx") for each in (setting, {})]
    assert all(found)
    assert found[0] != found[1]


def test_a_batch_of_one_cannot_be_dynamic(measure):
    asked = {"dynamic_shapes": True, "dynamic_batch_only": True, "batch_size": 1}
    record = measure("inductor", status="load_error", **asked)
    assert "a batch of 1 cannot be dynamic" in record.error.message


@pytest.mark.thorough
def test_freezing_is_another_program_of_the_same_capture(measure):
    """Parameters are folded into it."""
    frozen, plain = measure("inductor", freezing=True), measure("inductor")
    assert programs(frozen, "inductor") != programs(plain, "inductor")
    assert frozen.variant == "inductor freezing"


def test_randomized_inputs_differ_in_every_iteration(measure):
    """Of half precision and inside a dict; indices stay. The model raises where an input comes twice."""
    measure("eager", "same_input", suite_name="telling", randomize_input=True, dtype="bfloat16")
    record = measure("eager", "same_input", suite_name="telling", status="run_error")
    assert record.error.message == "an input came twice"


@pytest.mark.parametrize("backend", first_of(ON_XLA))
def test_randomized_inputs_are_brought_to_the_device_before_the_clock(linear, backend):
    record = linear(backend, randomize_input=True)
    assert set(steady(record, record.metrics["xla_TransferToDevice_number"])) == {0.0}


@pytest.mark.parametrize("backend", first_of(ON_XLA))
def test_transfers_are_timed_where_they_are_asked_for(linear, backend):
    """In each iteration one for each of the model's two inputs and one for its output; none otherwise."""
    record = linear(backend, include_transfers=True)
    plain = linear(backend)
    rows = BATCH * FEATURES * FLOAT
    for way, tensors, size in (("ToDevice", 2, rows + BATCH * INDEX), ("FromDevice", 1, rows)):
        assert set(steady(record, record.metrics[f"xla_Transfer{way}_number"])) == {float(ITERATIONS * tensors)}
        assert set(steady(record, record.metrics[f"xla_Transfer{way}_bytes"])) == {float(ITERATIONS * size)}
        assert min(steady(record, record.metrics[f"xla_Transfer{way}_time_s"])) > 0
        assert set(steady(plain, plain.metrics[f"xla_Transfer{way}_number"])) == {0.0}
        assert set(steady(plain, plain.metrics[f"xla_Transfer{way}_bytes"])) == {0.0}
    assert min(steady(record, record.measurement.blocks.executions)) >= ITERATIONS
    assert not any(steady(record, record.measurement.blocks.compiles))


@pytest.mark.parametrize("backend", first_of(ON_XLA))
def test_the_full_output_is_prediction_loss_and_gradients(linear, backend):
    """Counted in bytes on their way to the host; without it the loss alone."""
    asked = {"test": "train", "include_transfers": True}
    full = linear(backend, collect_full_output=True, **asked)
    plain = linear(backend, optimizer="Adam", **asked)
    name = "xla_TransferFromDevice_bytes"
    wanted = ITERATIONS * FLOAT * (BATCH * FEATURES + 1 + WEIGHTS)
    assert set(steady(full, full.metrics[name])) == {float(wanted)}
    assert set(steady(plain, plain.metrics[name])) == {float(ITERATIONS * FLOAT)}


@pytest.mark.parametrize("dynamo", first_of([None, "aot_eager", "inductor"]))
def test_the_full_output_runs_on_the_host(linear, dynamo):
    """Those that compile are thorough; XLA's, above, compiles as well."""
    linear("eager", dynamo=dynamo, test="train", collect_full_output=True)


@pytest.mark.parametrize("optimizer", first_of(["Adam", "SGD"]))
def test_an_optimizer_reaches_a_steady_state_on_lazy_tensors(linear, optimizer):
    """Its step count is no constant of the program. Transfers are timed for the test above, which looks at them."""
    record = linear("openxla+lazytensor", test="train", optimizer=optimizer, include_transfers=True)
    assert steady(record, record.measurement.blocks.compiles) == [0] * 5


def test_functionalization_is_off_where_it_is_asked_for(linear):
    variables = linear("openxla+lazytensor", enable_functionalization=False).environment.variables
    assert variables["XLA_DISABLE_FUNCTIONALIZATION"] == "1"
    assert linear("openxla+lazytensor").environment.variables["XLA_DISABLE_FUNCTIONALIZATION"] == "0"
