"""PyTorch eager: no compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.backends.host import HostRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from runner.backends.base import Runtime
    from runner.machine import Machine
    from store.record import Accelerator, ExperimentConfig


class Eager:
    """Run the step as it is written."""

    name = "eager"
    preload: Sequence[str] = ("torch",)

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return machine.accelerator_missing(accelerator)

    def variables(self, config: ExperimentConfig, scratch: Path) -> dict[str, str]:
        return {"PJRT_DEVICE": "CPU"} if config.accelerator == "cpu" else {}

    def open(self, config: ExperimentConfig) -> Runtime:
        return HostRuntime(config.accelerator)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step

    def invalid(self) -> str | None:
        return None
