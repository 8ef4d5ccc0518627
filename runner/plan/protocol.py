"""The settings of a run: the request's protocol, its plan file's settings and the preset's defaults, in this order."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from runner.plan.local_request import LocalRequest, agreeing
from runner.plan.request import Configuration, Protocol
from runner.settings import ProveMode, Settings
from store.errors import UsageError
from store.record import Accelerator, ExperimentConfig, PlanEntry, Test

QUIET = "XLABENCH_QUIET"
"""Environment variable; with `off`, turns are not judged, priorities not changed, and proofs taken on request only.

Tests set it, so that they behave alike on any machine.
"""
_NAMES = {
    **{name: name for name in Protocol.__struct_fields__ if name in Settings.__struct_fields__},
    "time_budget": "time_budget_s",
    "subprocess_timeout": "timeout_s",
    "memory_limit": "memory_limit_bytes",
    "artifact_limit": "artifact_limit_bytes",
    "no_wait_quiet": "wait_quiet",
    "own_priority": "raise_priority",
    "verify_only": "verify",
}
"""Fields of a protocol → settings."""
_APART = ("verify", "verify_only", "prove", "instruments", "no_wait_quiet", "own_priority", "subprocess_timeout")
"""Fields whose setting has another value."""


def settings(request: LocalRequest) -> Settings:
    """Return the settings of a request's run.

    Raises:
        UsageError: they do not agree.
    """
    run_settings = _of_protocol(request)
    plan = request.request.plan
    if plan is not None:
        run_settings = with_plan(run_settings, plan.settings, request.given)
    return agreeing(run_settings)


def _of_protocol(request: LocalRequest) -> Settings:
    protocol, preset, smoke = request.protocol, request.configuration.preset, request.selection.smoke
    watched = os.environ.get(QUIET) != "off"
    fields: dict[str, Any] = {"repeat": REPEATS[preset], "processes": 1 if smoke else PROCESSES[preset]}
    for name, setting in _NAMES.items():
        if name not in _APART and (value := getattr(protocol, name)) is not None:
            fields[setting] = value
    if protocol.subprocess_timeout is not None:
        fields["timeout_s"] = float(protocol.subprocess_timeout)
    return Settings(
        **fields,
        preset=preset,
        quiet=watched and not request.quick,
        wait_quiet=not protocol.no_wait_quiet,
        raise_priority=not protocol.own_priority and watched,
        verify="only" if protocol.verify_only else "with" if protocol.verify or smoke else "off",
        prove=_prove(request, watched=watched),
        instruments=(*protocol.instruments, *(("save_ir",) if protocol.save_ir_format else ())),
        print_subprocess=request.print_subprocess,
    )


def _prove(request: LocalRequest, *, watched: bool) -> ProveMode:
    """Say whether timing proofs are needed: of presets that count as another harness, on request only."""
    if request.protocol.prove:
        return "again"
    if request.quick:
        return "off"
    return "once" if request.configuration.preset == "xlabench" and watched else "off"


def with_plan(of_flags: Settings, in_file: dict[str, Any], given: Collection[str]) -> Settings:
    """Return the settings of the flags, and those of a plan where no flag was typed; `given` are the typed ones."""
    typed = {_NAMES.get(name, name) for name in given} | ({"instruments"} if "save_ir_format" in given else set())
    wanted = {name: value for name, value in in_file.items() if name not in typed}
    for name, of_preset in (("repeat", REPEATS), ("processes", PROCESSES)):
        if name not in typed and "preset" in wanted:
            wanted.setdefault(name, of_preset[wanted["preset"]])
    checked = msgspec.convert(wanted, Settings)
    return msgspec.structs.replace(of_flags, **{name: getattr(checked, name) for name in wanted})


def protocol_of(settings: Settings) -> Protocol:
    """Return the protocol under which one experiment is measured as by these settings: what is not usual is given."""
    usual, fields = Settings(), {}
    for name, setting in _NAMES.items():
        value = getattr(settings, setting)
        if name not in _APART and value != getattr(usual, setting):
            fields[name] = value
    for of_whole_run in ("twins", "until_verdict", *(("time_budget",) if settings.until_stable is None else ())):
        fields.pop(of_whole_run, None)
    if settings.timeout_s != usual.timeout_s:
        fields["subprocess_timeout"] = int(settings.timeout_s)
    return Protocol(
        **{"repeat": settings.repeat, "processes": settings.processes, **fields},
        no_wait_quiet=not settings.wait_quiet,
        own_priority=not settings.raise_priority,
        verify=settings.verify == "with",
        verify_only=settings.verify == "only",
        # A named format implies that the IR is saved.
        instruments=tuple(name for name in settings.instruments if name != "save_ir"),  # type: ignore[misc]
    )


PRESETS = ("xlabench", "peer", "hud")
_OF_WAYS = frozenset({"batch_size", "xla_flags", "without_fallback", "cache"})
"""Fields of both that the plan itself combines or resolves."""
CONFIGURABLE = tuple(
    name
    for name in Configuration.__struct_fields__
    if name in ExperimentConfig.__struct_fields__ and name not in _OF_WAYS
)
"""Fields of `ExperimentConfig` that a flag of the same name fixes, whatever the preset says."""

REPEATS = {"xlabench": 20, "peer": 10, "hud": 30}
PROCESSES = {"xlabench": 3, "peer": 1, "hud": 3}
"""Processes of each experiment. The peer's runner has one."""

_PEER_SGD = frozenset(
    (
        *("BERT_pytorch", "LearningToPaint", "alexnet", "dcgan", "demucs", "densenet121", "dlrm", "fastNLP_Bert"),
        *("mobilenet_v2", "phlippe_densenet", "phlippe_resnet", "pytorch_stargan", "resnet18", "shufflenet_v2_x1_0"),
        *("speech_transformer", "squeezenet1_1", "stable_diffusion_text_encoder", "timm_efficientdet", "timm_nfnet"),
        *("timm_regnet", "timm_vision_transformer", "timm_vovnet", "vgg16", "hf_T5", "llama_v2_7b_16h"),
    )
)
"""Models that PyTorch/XLA's runner trains with SGD, because Adam's state would not fit; all others use Adam."""


def fixed(configuration: Configuration) -> dict[str, Any]:
    """Return the fields of `ExperimentConfig` that a configuration fixes, whatever its preset says."""
    fields = {name: value for name in CONFIGURABLE if (value := getattr(configuration, name)) is not None}
    if configuration.no_optimizer or configuration.with_optimizer:
        fields["optimizer"] = None if configuration.no_optimizer else configuration.with_optimizer
    if configuration.exec_mode == "continuous_events":
        fields["pure_wall_time"] = True
    overrides = {f"dynamo.{key}": value for key, value in configuration.dynamo_config}
    overrides |= {f"inductor.{key}": value for key, value in configuration.inductor_config}
    return fields | ({"overrides": overrides} if overrides else {})


def requested(preset: str, suite: str, model: str, test: Test, accelerator: Accelerator) -> dict[str, Any]:
    """Return the fields of `ExperimentConfig` that the preset fixes for one model and test.

    `xlabench`: float32, no optimizer step (as TorchDynamo defines train). `peer`: PyTorch/XLA's
    `experiment_runner.py`. `hud`: bfloat16 inference and amp training, on CUDA with TensorFloat-32 in what stays
    float32, as the PyTorch HUD runs inductor.
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
        fields = {"dtype": "bfloat16" if test == "eval" else "amp", "cudagraphs": accelerator == "cuda"}
        # The harness sets `torch.backends.cuda.matmul.allow_tf32`.
        return fields | ({"matmul_precision": "high"} if accelerator == "cuda" else {})
    return {}


def payoff_settings(settings: Settings, entries: Iterable[PlanEntry]) -> Settings:
    """Return the settings of the run; where an op is replaced, its records are no results of the store.

    Raises:
        UsageError: the run is for something else, or none of its experiments can do without its fallback ops.
    """
    replaced = [entry for entry in entries if entry.config.without_fallback]
    if not replaced:
        return settings
    if settings.purpose not in ("benchmark", "payoff"):
        raise UsageError(
            f"--without-fallback: not supported in a {settings.purpose}; remove it, or use `xlabench run`."
        )
    if settings.verify == "only":
        raise UsageError("--without-fallback measures time; use --verify instead of --verify-only.")
    if settings.until_verdict:
        raise UsageError("--until-verdict needs verdicts, which --without-fallback does not produce.")
    if not any(entry.runnable for entry in replaced):
        raise UsageError(str(replaced[0].skip_reason))
    return msgspec.structs.replace(settings, purpose="payoff", verify="with")
