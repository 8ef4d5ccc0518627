"""TorchInductor, and any backend that dynamo lists, by its name, on the host's device: `aot_eager`, `cudagraphs`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from runner.accelerators import ACCELERATORS
from runner.backends import dynamo, host, steps
from runner.backends.eager import Eager
from runner.environments.machine import Machine
from store.record import Accelerator, ExperimentConfig

_NOT_OFFERED = ("_TESTING_ONLY", "minifier_backend", "aot_ts")
"""Ends of names that are no way to run a model: PyTorch's own tests, the minifier, a `ts` that cannot compile."""


class HostDynamo(Eager):
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

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, self.name, config)

    def invalid(self) -> str | None:
        return dynamo.no_graph()


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
