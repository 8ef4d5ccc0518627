"""A run and its plan: what stands in `run.json`."""

from __future__ import annotations

from typing import Any

import msgspec

from store.record.environment import Environment
from store.record.experiment import ExperimentConfig, UsedBy
from store.record.words import SCHEMA_VERSION


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The run a record belongs to."""

    run_id: str
    label: str
    command: str


class PlanEntry(msgspec.Struct, kw_only=True, frozen=True):
    """One planned experiment: runnable, or skipped with the reason."""

    experiment_id: str
    config: ExperimentConfig
    variant: str
    backend: str
    environment: str
    group: str
    skip_reason: str | None = None
    notes: tuple[str, ...] = ()
    """What was changed in the configuration that was asked for, and why; warnings of the record."""
    in_spite_of: str | None = None
    """What the suite's tables say against measuring it, where it is measured all the same (`--no-skip`)."""

    used_by: UsedBy | None = None
    """The model that an operator was recorded from."""

    @property
    def runnable(self) -> bool:
        return self.skip_reason is None


class RunFile(msgspec.Struct, kw_only=True):
    """`run.json`: written and fsynced before the first experiment; the denominator of every rate."""

    schema_version: int = SCHEMA_VERSION
    run: Run
    timestamp: float
    """Start of the run, Unix seconds; every record of the run repeats it."""
    environments: list[Environment]
    settings: dict[str, Any]
    plan: list[PlanEntry]
    plan_id: str
    """Hash of the plan's experiment ids, skips and environments: what resuming compares."""
