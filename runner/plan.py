"""Expand a request into the plan: every experiment, runnable or skipped with its reason. Imports no torch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from runner import presets
from runner.backends import BACKENDS
from runner.suites import get_suite, suite_names
from store.identity import backend_name, digest, experiment_id, variant
from store.record import ExperimentConfig, PlanEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.machine import Machine
    from runner.suites.base import ModelInfo, Suite, SuiteContext
    from store.record import Accelerator, Test

TESTS: tuple[Test, ...] = ("eval", "train")
COMPILERS = {
    "compile_mode": ("inductor",),
    "fullgraph": ("inductor", "openxla"),
    "dynamic_shapes": ("inductor", "openxla"),
}
"""The dynamo backends that know a setting of `torch.compile`; the others are planned without it."""
FULLGRAPH_TRAIN = "fullgraph in eval only: dynamo cannot capture the backward() that the train step calls"


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What a command asks for; an empty tuple means all that exist."""

    suites: tuple[str, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    xla: tuple[str | None, ...] = ()
    dynamo: tuple[str | None, ...] = ()
    tests: tuple[Test, ...] = ()
    filters: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Exact `suite/model` names; where given, nothing else is planned."""
    batch_size: int | None = None
    preset: str = "xlabench"
    requested: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `ExperimentConfig` that the command fixes, whatever the preset says."""
    total_partitions: int = 1
    partition_id: int = 0
    context: SuiteContext
    environment: str = "default"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The experiments in the order they are measured, and the suites that could not be listed, with reasons."""

    entries: tuple[PlanEntry, ...]
    missing_suites: dict[str, str] = field(default_factory=dict)

    @property
    def plan_id(self) -> str:
        """Identify what is to be measured where; a run resumes only under the same one."""
        return digest([(entry.experiment_id, entry.environment, entry.runnable) for entry in self.entries])

    @property
    def runnable(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entry in self.entries if entry.runnable)

    @property
    def skipped(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.runnable)


def make_plan(request: PlanRequest, machine: Machine) -> Plan:
    """Expand the request on this machine; senseless combinations are left out."""
    models: list[tuple[Suite, ModelInfo]] = []
    missing: dict[str, str] = {}
    for name in request.suites or suite_names():
        suite = get_suite(name)
        reason = suite.unavailable(request.context)
        if reason:
            missing[name] = reason
            continue
        models += [(suite, model) for model in _selected(suite, request)]
    # Cut after filtering: sizes differ by at most one, and a group is never torn.
    part = models[request.partition_id :: request.total_partitions]
    entries = [entry for suite, model in part for entry in _of_model(suite, model, request, machine)]
    return Plan(entries=tuple(entries), missing_suites=missing)


def source_versions(request: PlanRequest) -> dict[str, str]:
    """Return what identifies the sources of the requested suites beside package versions."""
    versions: dict[str, str] = {}
    for name in request.suites or suite_names():
        versions |= get_suite(name).versions(request.context)
    return versions


def label(plan: Plan) -> str:
    """Name a plan by its suites."""
    return "+".join(dict.fromkeys(entry.config.suite_name for entry in plan.entries))


def _selected(suite: Suite, request: PlanRequest) -> Iterator[ModelInfo]:
    """Yield the suite's models that the filters let through; they search, ignoring case, as the peer's do."""
    # Each is compiled alone: joined by `|`, inline flags are an error and back-references count wrongly.
    wanted = [re.compile(text, re.IGNORECASE) for text in request.filters or (".",)]
    unwanted = [re.compile(text, re.IGNORECASE) for text in request.excludes]
    for model in suite.models(request.context):
        if request.models and f"{suite.name}/{model.name}" not in request.models:
            continue
        name = model.name
        if any(each.search(name) for each in wanted) and not any(each.search(name) for each in unwanted):
            yield model


def _of_model(suite: Suite, model: ModelInfo, request: PlanRequest, machine: Machine) -> Iterator[PlanEntry]:
    accelerators = request.accelerators or tuple(machine.accelerators)
    for accelerator, test in product(accelerators, request.tests or TESTS):
        for (xla, dynamo), backend in BACKENDS.items():
            if not _asked(xla, dynamo, accelerator, request):
                continue
            fixed = presets.requested(request.preset, suite.name, model.name, test, accelerator)
            asked = {key: value for key, value in request.requested.items() if dynamo in COMPILERS.get(key, (dynamo,))}
            config = ExperimentConfig(
                suite_name=suite.name,
                model_name=model.name,
                test=test,
                accelerator=accelerator,
                xla=xla,
                dynamo=dynamo,
                batch_size=request.batch_size,
                **(fixed | asked),
            )
            reason = model.skips.get(test) or backend.unavailable(accelerator, machine)
            if reason is None and config.fullgraph and test == "train":
                reason = FULLGRAPH_TRAIN
            yield make_entry(config, request.environment, reason)


def _asked(xla: str | None, dynamo: str | None, accelerator: str, request: PlanRequest) -> bool:
    if request.xla and xla not in request.xla:
        return False
    if request.dynamo and dynamo not in request.dynamo:
        return False
    # PyTorch/XLA dropped CUDA, and a TPU has no eager device: such pairs are senseless, not skipped.
    return not (accelerator == "cuda" and xla) and not (accelerator == "tpu" and not xla)


def make_entry(config: ExperimentConfig, environment: str, skip_reason: str | None) -> PlanEntry:
    """Give a configuration its identity, variant and group."""
    group = [
        config.suite_name,
        config.model_name,
        config.test,
        config.dtype,
        config.batch_size,
        config.accelerator,
    ]
    return PlanEntry(
        experiment_id=experiment_id(config),
        config=config,
        variant=variant(config),
        backend=backend_name(config.xla, config.dynamo),
        environment=environment,
        group="/".join(str(part) for part in group),
        skip_reason=skip_reason,
    )
