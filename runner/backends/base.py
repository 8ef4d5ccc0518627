"""What a backend is: one way to compile and run a step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from runner.environments.machine import Machine
from runner.workload import Runtime
from store.record import Accelerator, ExperimentConfig


class Backend(Protocol):
    """One way to compile, found by the (xla, dynamo, torch_xla2) of a configuration.

    By itself it refuses no configuration, and its numbers are always those of the backend.
    """

    name: str
    preload: Sequence[str]
    """Modules that the fork server imports once where the plan holds this backend."""

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        """Say why this machine cannot run it, or None. Imports no torch."""

    def refuses(self, config: ExperimentConfig) -> str | None:
        """Say why it can measure this configuration on no machine, or None. Imports no torch."""
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        """Return environment variables to set in the measuring process before first use."""

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        """Start the runtime in the measuring process, on the device of that index; None is the first."""

    @abstractmethod
    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        """Return the step as this backend runs it. It has no default: who forgot it would measure eager."""

    def invalid(self) -> str | None:
        """Say after the run why its numbers are no measurement of this backend, or None."""
        return None
