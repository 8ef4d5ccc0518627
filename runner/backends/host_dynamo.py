"""Any backend that dynamo lists, by its name, on the host's device: `aot_eager`, `eager`, `cudagraphs`, `tvm`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from runner.accelerators import ACCELERATORS
from runner.backends import dynamo, host

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runner.environments.machine import Machine
    from runner.workload import Runtime
    from store.record import Accelerator, ExperimentConfig

_NOT_OFFERED = ("_TESTING_ONLY", "minifier_backend", "aot_ts")
"""Ends of names that are no way to run a model: PyTorch's own tests, the minifier, a `ts` that cannot compile."""


class HostDynamo:
    """Compile the step with the dynamo backend of a name; torch knows which there are."""

    preload: Sequence[str] = ("torch._dynamo",)

    def __init__(self, name: str) -> None:
        self.name = name

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = host.unavailable(accelerator, machine)
        if missing:
            return missing
        known = machine.dynamo_backends()
        if self.name in known:
            return None
        if not known:
            return f"torch could not list its dynamo backends, so {self.name} cannot be checked"
        close = get_close_matches(self.name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        offered = ", ".join(name for name in known if not name.endswith(_NOT_OFFERED))
        return f"dynamo has no backend {self.name}{hint}; available: {offered}"

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.xla:
            return f"{self.name} runs on the host device; remove --xla {config.xla}"
        if self.name == "cudagraphs" and config.accelerator != "cuda":
            return "cudagraphs requires CUDA; on other devices it would run as eager"
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        return {**ACCELERATORS[config.accelerator].variables, **dynamo.cache_variables(scratch)}

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return host.HostRuntime(config.accelerator, device_index)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, self.name, config)

    def invalid(self) -> str | None:
        return dynamo.no_graph()
