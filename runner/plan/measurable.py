"""What no machine can measure: settings that contradict a backend, or a device that lacks what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.accelerators import ACCELERATORS
from runner.backends import backend_of, xla_of

if TYPE_CHECKING:
    from store.record import ExperimentConfig

KEEP_MODEL_DATA = (
    "keep-model-data-on-cuda was removed from PyTorch/XLA: its dynamo bridge no longer moves tensors, "
    "and runs those of another device eagerly"
)
ONLY_XLA_FALLS_BACK = "without-fallback: only PyTorch/XLA has fallback ops, not this backend"
XLA_CPU_CACHE = (
    "cache=warm: PyTorch/XLA writes its programs for the CPU to its cache and cannot read them back "
    "(`Deserializing serialized executable not supported`), so every start is cold"
)


def not_measurable(config: ExperimentConfig) -> str | None:
    """Say why the configuration can be measured nowhere, or None. Imports no torch."""
    if reason := _not_by_this_backend(config) or _not_on_this_device(config):
        return reason
    if config.dynamic_batch_only and config.include_transfers:
        return (
            "dynamic-batch-only and include-transfers exclude each other: the first marks "
            "inputs that already are on the device"
        )
    if config.cache == "warm" and (reason := _never_warm(config)):
        return reason
    return backend_of(config.xla, config.dynamo, config.torch_xla2).refuses(config)


def _not_by_this_backend(config: ExperimentConfig) -> str | None:
    """Say which setting belongs to another backend, or None."""
    if config.xla is None and xla_of(config.dynamo):
        return f"{config.dynamo} requires PyTorch/XLA; pass --xla {xla_of(config.dynamo)}"
    if config.without_fallback and (config.xla is None or config.torch_xla2):
        return ONLY_XLA_FALLS_BACK
    return KEEP_MODEL_DATA if config.keep_model_data_on_cuda and config.xla else None


def _not_on_this_device(config: ExperimentConfig) -> str | None:
    """Say what the device lacks that the timing needs, or None."""
    if config.pure_wall_time and (config.xla or not ACCELERATORS[config.accelerator].has_events):
        where = "PyTorch/XLA" if config.xla else f"the {config.accelerator}"
        return f"pure-wall-time uses device events, which {where} does not have"
    if config.operator is not None and config.operator.clear_cache and config.accelerator != "cuda":
        return f"cuda-l2-cache off requires a CUDA device, not {config.accelerator}"
    return None


def _never_warm(config: ExperimentConfig) -> str | None:
    """Say why an earlier process leaves nothing that this one could start from, or None."""
    if config.xla is None:
        return None if config.dynamo == "inductor" else f"cache=warm: {config.dynamo or 'eager'} keeps no cache on disk"
    return XLA_CPU_CACHE if config.accelerator == "cpu" else None
