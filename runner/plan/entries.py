"""One planned experiment: its identity, its group, and what keeps this machine from measuring it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.backends import backend_of
from runner.plan.measurable import not_measurable
from runner.plan.replaceable import cannot_replace
from store.identity import backend_name, experiment_id, variant, workload
from store.record import PlanEntry

if TYPE_CHECKING:
    from runner.environments.machine import Machine
    from store.record import ExperimentConfig


def make_entry(
    config: ExperimentConfig,
    environment: str,
    skip_reason: str | None,
    notes: tuple[str, ...] = (),
    in_spite_of: str | None = None,
) -> PlanEntry:
    """Give a configuration its identity, variant and group."""
    group = [
        config.suite_name,
        config.model_name,
        config.test,
        config.dtype,
        config.batch_size,
        config.accelerator,
    ]
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
