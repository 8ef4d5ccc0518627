"""What a command asks to be planned, and the plan that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from store.identity import digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.suites.base import SuiteContext
    from store.record import Accelerator, CacheState, PlanEntry, Test


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What a command asks for; an empty tuple means all that exist."""

    suites: tuple[str, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    xla: tuple[str | None, ...] = ()
    dynamo: tuple[str | None, ...] = ()
    backends: tuple[str, ...] = ()
    """Names as reports show them; where given, in place of `xla`, `dynamo` and `torch_xla2`."""
    tests: tuple[Test, ...] = ()
    tests_of: Mapping[str, tuple[Test, ...]] = field(default_factory=dict)
    """By suite, where they are others than `tests`."""
    filters: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """Exact names of models, or `suite/model`."""
    models_file: Path | None = None
    tiers: tuple[int, ...] = ()
    excluded_tiers: tuple[int, ...] = ()
    fast: bool = False
    no_skip: bool = False
    torch_xla2: tuple[str | None, ...] = ()
    xla_flags: tuple[tuple[str, ...], ...] = ()
    """One variant of the XLA backends each."""
    without_fallback: tuple[tuple[str, ...], ...] = ()
    """One variant of the XLA backends each, beside the one that replaces no op."""
    caches: tuple[CacheState, ...] = ("cold",)
    xla_baseline: bool = False
    plan_file: Path | None = None
    environments: tuple[tuple[str, Path | None], ...] = ()
    """Name and interpreter of each, None where the name is known; none: the current one, named `default`."""
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
