"""What each preset fixes."""

import pytest
from runner_makers import config

from runner.plan import protocol
from store.identity import experiment_id


def test_the_default_preset_changes_nothing():
    """An experiment under `xlabench` has the identity of the bare configuration."""
    assert protocol.requested("xlabench", "torchbench", "resnet18", "train", "cpu") == {}


@pytest.mark.parametrize(
    ("suite", "test", "dtype"),
    [
        ("torchbench", "eval", "bfloat16"),
        ("torchbench", "train", "float32"),
        ("huggingface", "eval", "float32"),
        ("timm_models", "train", "float32"),
    ],
)
def test_peer_runs_torchbench_eval_in_bfloat16(suite, test, dtype):
    assert protocol.requested("peer", suite, "resnet50", test, "cpu")["dtype"] == dtype


@pytest.mark.parametrize(
    ("model", "test", "optimizer"),
    [("resnet18", "train", "SGD"), ("resnet50", "train", "Adam"), ("resnet18", "eval", None)],
)
def test_peer_steps_an_optimizer_in_train_only(model, test, optimizer):
    assert protocol.requested("peer", "torchbench", model, test, "cpu")["optimizer"] == optimizer


def test_peer_sets_precision_high_and_functionalization_off():
    found = protocol.requested("peer", "torchbench", "resnet18", "eval", "cpu")
    assert (found["matmul_precision"], found["enable_functionalization"]) == ("high", False)


@pytest.mark.parametrize("preset", ["peer", "hud"])
@pytest.mark.parametrize(("accelerator", "cudagraphs"), [("cuda", True), ("cpu", False), ("tpu", False)])
def test_cudagraphs_are_on_where_there_is_cuda(preset, accelerator, cudagraphs):
    assert protocol.requested(preset, "torchbench", "resnet18", "eval", accelerator)["cudagraphs"] is cudagraphs


@pytest.mark.parametrize(("test", "dtype"), [("eval", "bfloat16"), ("train", "amp")])
def test_hud_is_bfloat16_inference_and_amp_training(test, dtype):
    assert protocol.requested("hud", "timm_models", "x", test, "cuda")["dtype"] == dtype


@pytest.mark.parametrize(("accelerator", "precision"), [("cuda", "high"), ("cpu", None), ("xpu", None)])
def test_hud_multiplies_by_tensor_float_32_on_cuda(accelerator, precision):
    """As `benchmarks/dynamo/common.py` does when it is imported; `--float32` there means this."""
    fields = protocol.requested("hud", "timm_models", "x", "eval", accelerator)
    assert fields.get("matmul_precision") == precision


def test_repeats_of_every_preset_are_known():
    assert protocol.REPEATS == {"xlabench": 20, "peer": 10, "hud": 30}
    assert set(protocol.REPEATS) == set(protocol.PRESETS)


def test_the_peers_runner_has_one_process_per_experiment():
    assert protocol.PROCESSES == {"xlabench": 3, "peer": 1, "hud": 3}


@pytest.mark.parametrize("preset", protocol.PRESETS)
def test_every_field_of_a_preset_is_part_of_the_experiment(preset):
    """A preset can be written into a configuration, and into its identity where it differs from the default."""
    fields = protocol.requested(preset, "torchbench", "resnet18", "train", "cuda")
    assert (experiment_id(config(**fields)) == experiment_id(config())) == (preset == "xlabench")
