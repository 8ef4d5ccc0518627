"""TorchInductor through `torch.compile`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from runner.backends import dynamo, host, steps
from runner.backends.host_dynamo import HostDynamo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.environments.machine import Machine
    from store.record import Accelerator, ExperimentConfig


class Inductor(HostDynamo):
    """Compile the step with inductor into caches of its own."""

    preload: Sequence[str] = ("torch._dynamo", "torch._inductor.compile_fx")

    def __init__(self) -> None:
        super().__init__("inductor")

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = host.unavailable(accelerator, machine)
        if missing or accelerator != "cpu":
            return missing
        return machine.toolchain_missing()

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.freezing and config.test == "train":
            return "freezing turns parameters into constants, so it supports eval only"
        return super().refuses(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        from torch._inductor import config as inductor_config

        steps.on_disk_only()
        inductor_config.triton.cudagraphs = config.cudagraphs
        inductor_config.freezing = config.freezing
        if shutil.which("openssl") is None:
            # Inductor names its precompiled headers with openssl and fails without it.
            inductor_config.cpp_cache_precompile_headers = False
        return dynamo.compile_step(step, self.name, config)
