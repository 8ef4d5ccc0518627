"""PyTorch/XLA lazy tensors: operations are recorded and compiled at each sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.backends import xla

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runner.environments.machine import Machine
    from runner.workload import Runtime
    from store.record import Accelerator, ExperimentConfig


class OpenXlaLazyTensor:
    """Trace every iteration; compile where the trace is new."""

    name = "openxla+lazytensor"
    preload: Sequence[str] = xla.PRELOAD

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return xla.unavailable(accelerator, machine)

    def refuses(self, config: ExperimentConfig) -> str | None:
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        return xla.variables(config, scratch)

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return xla.XlaRuntime(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step

    def invalid(self) -> str | None:
        return None
