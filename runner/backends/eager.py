"""PyTorch eager: no compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.accelerators import ACCELERATORS
from runner.backends import host
from runner.backends.base import Backend
from runner.environments.machine import Machine
from runner.workload import Runtime
from store.record import Accelerator, ExperimentConfig


class Eager(Backend):
    """Run the step as it is written; the base of the compilers of PyTorch's own devices."""

    name: str = "eager"
    preload: Sequence[str] = ("torch",)

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return host.unavailable(accelerator, machine)

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        return ACCELERATORS[config.accelerator].variables

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return host.HostRuntime(config.accelerator, device_index)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step
