"""TorchInductor through `torch.compile`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from runner.backends import dynamo
from runner.backends.host import HostRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from runner.backends.base import Runtime
    from runner.machine import Machine
    from store.record import Accelerator, ExperimentConfig


class Inductor:
    """Compile the step with inductor into caches of its own."""

    name = "inductor"
    preload: Sequence[str] = ("torch._dynamo", "torch._inductor.compile_fx")

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = machine.accelerator_missing(accelerator)
        if missing or accelerator != "cpu":
            return missing
        return machine.toolchain_missing()

    def variables(self, config: ExperimentConfig, scratch: Path) -> dict[str, str]:
        return {
            "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
            "TRITON_CACHE_DIR": str(scratch / "triton"),
            "PJRT_DEVICE": config.accelerator.upper(),
        }

    def open(self, config: ExperimentConfig) -> Runtime:
        return HostRuntime(config.accelerator)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        from torch._inductor import config as inductor_config

        inductor_config.triton.cudagraphs = config.cudagraphs
        if shutil.which("openssl") is None:
            # Inductor names its precompiled headers with openssl and fails without it.
            inductor_config.cpp_cache_precompile_headers = False
        return dynamo.compile_step(step, "inductor", config)

    def invalid(self) -> str | None:
        return dynamo.no_graph()
