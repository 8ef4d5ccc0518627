"""One planned experiment: its identity, its group, and what keeps this machine from measuring it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from runner.accelerators import ACCELERATORS
from runner.backends import backend_of, openxla, xla_of
from runner.environments.machine import Machine
from store.identity import backend_name, experiment_id, variant, workload
from store.record import ExperimentConfig, PlanEntry


def make_entry(
    config: ExperimentConfig,
    environment: str,
    skip_reason: str | None,
    notes: tuple[str, ...] = (),
    in_spite_of: str | None = None,
) -> PlanEntry:
    """Give a configuration its identity, variant and group."""
    workload_of = (config.suite_name, config.model_name, config.test, config.dtype, config.batch_size)
    group = [*workload_of, config.accelerator]
    if timed := workload(config):
        group.append(timed)
    return PlanEntry(
        experiment_id=experiment_id(config),
        config=config,
        variant=variant(config),
        backend=backend_name(config.xla, config.dynamo, config.torch_xla2),
        environment=environment,
        group="/".join(str(part) for part in group),
        skip_reason=skip_reason,
        notes=notes,
        in_spite_of=in_spite_of,
    )


def cannot_run(config: ExperimentConfig, machine: Machine) -> str | None:
    """Say why this machine, or any, cannot measure the configuration."""
    reason = not_measurable(config)
    if reason is None:
        reason = backend_of(config.xla, config.dynamo, config.torch_xla2).unavailable(config.accelerator, machine)
    if reason is None and config.without_fallback:
        reason = cannot_replace(config.without_fallback, machine)
    return reason


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


def cannot_replace(ops: Iterable[str], machine: Machine) -> str | None:
    """Say of the first op that has neither a decomposition nor a lowering on request why it cannot be replaced."""
    return next((reason for op in ops if (reason := _cannot_replace(op, machine))), None)


def _cannot_replace(op: str, machine: Machine) -> str | None:
    if openxla.is_host_read(op):
        return (
            f"without-fallback: {op} reads a value on the host, so there is nothing to "
            "lower; change the code that reads it"
        )
    if openxla.is_opt_in(op):
        return None
    aten = machine.aten_ops()
    if not aten:
        return f"without-fallback: torch could not list its decompositions, so {op} cannot be checked"
    if op not in aten:
        near = [name for name in sorted(aten) if name.startswith(f"{op}.")] or get_close_matches(op, aten, n=1)
        hint = f"; did you mean {' or '.join(near[:3])}?" if near else ""
        return f"without-fallback: torch has no op {op}{hint}"
    if not aten[op]:
        return (
            f"without-fallback: torch has no decomposition of {op}, and PyTorch/XLA no optional lowering: "
            "the gain cannot be measured before the op is lowered"
        )
    return None
