"""Presets: what each harness means by the same words. Each field is part of the experiment or the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.plan.request import Configuration
    from store.record import Accelerator, Test

PRESETS = ("xlabench", "peer", "hud")
CONFIGURABLE = (
    "dtype",
    "amp_dtype",
    "matmul_precision",
    "disable_tf32",
    "enable_functionalization",
    "compile_mode",
    "dynamic_shapes",
    "dynamic_batch_only",
    "fullgraph",
    "cudagraphs",
    "freezing",
    "loss",
    "weights",
    "randomize_input",
    "keep_model_data_on_cuda",
    "collect_full_output",
    "include_transfers",
    "pure_wall_time",
)
"""Fields of `ExperimentConfig` that a flag of the same name fixes, whatever the preset says."""

WITHOUT_CUDAGRAPHS = {"reduce-overhead": "default", "max-autotune": "max-autotune-no-cudagraphs"}
"""Modes of `torch.compile` that turn CUDA graphs on, whatever inductor says, and what they are without."""

REPEATS = {"xlabench": 20, "peer": 10, "hud": 30}
PROCESSES = {"xlabench": 3, "peer": 1, "hud": 3}
"""Processes of each experiment. The peer's runner has one."""

_PEER_SGD = frozenset(
    [
        "BERT_pytorch",
        "LearningToPaint",
        "alexnet",
        "dcgan",
        "demucs",
        "densenet121",
        "dlrm",
        "fastNLP_Bert",
        "mobilenet_v2",
        "phlippe_densenet",
        "phlippe_resnet",
        "pytorch_stargan",
        "resnet18",
        "shufflenet_v2_x1_0",
        "speech_transformer",
        "squeezenet1_1",
        "stable_diffusion_text_encoder",
        "timm_efficientdet",
        "timm_nfnet",
        "timm_regnet",
        "timm_vision_transformer",
        "timm_vovnet",
        "vgg16",
        "hf_T5",
        "llama_v2_7b_16h",
    ]
)
"""Models that PyTorch/XLA's runner trains with SGD, because Adam's state would not fit; all others use Adam."""


def fixed(configuration: Configuration) -> dict[str, Any]:
    """Return the fields of `ExperimentConfig` that a configuration fixes, whatever its preset says."""
    found = {name: value for name in CONFIGURABLE if (value := getattr(configuration, name)) is not None}
    if configuration.no_optimizer or configuration.with_optimizer:
        found["optimizer"] = None if configuration.no_optimizer else configuration.with_optimizer
    if configuration.exec_mode == "continuous_events":
        found["pure_wall_time"] = True
    overrides = {f"dynamo.{key}": value for key, value in configuration.dynamo_config}
    overrides |= {f"inductor.{key}": value for key, value in configuration.inductor_config}
    return found | ({"overrides": overrides} if overrides else {})


def requested(preset: str, suite: str, model: str, test: Test, accelerator: Accelerator) -> dict[str, Any]:
    """Return the fields of `ExperimentConfig` that the preset fixes for one model and test.

    `xlabench`: float32, no optimizer step (as TorchDynamo defines train). `peer`: PyTorch/XLA's
    `experiment_runner.py`. `hud`: bfloat16 inference and amp training, as the PyTorch HUD runs inductor.
    """
    if preset == "peer":
        half = suite == "torchbench" and test == "eval"
        optimizer = None if test == "eval" else ("SGD" if model in _PEER_SGD else "Adam")
        return {
            "dtype": "bfloat16" if half else "float32",
            "optimizer": optimizer,
            "matmul_precision": "high",
            "cudagraphs": accelerator == "cuda",
            "enable_functionalization": False,
        }
    if preset == "hud":
        return {"dtype": "bfloat16" if test == "eval" else "amp", "cudagraphs": accelerator == "cuda"}
    return {}
