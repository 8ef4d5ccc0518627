"""`--torch-xla2`: the module becomes a JAX function through torchax, and JAX compiles it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.accelerators import ACCELERATORS
from runner.backends.jax_runtime import JaxRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runner.environments.machine import Machine
    from runner.workload import Runtime
    from store.record import Accelerator, ExperimentConfig


class TorchXla2:
    """One of the two ways from a module to JAX: `extract_jax` and `torch_export`."""

    preload: Sequence[str] = ("torch",)
    """Never JAX: it starts threads, and those do not survive a fork."""

    def __init__(self, mode: str) -> None:
        self.name = mode

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = machine.accelerator_missing(accelerator)
        if missing:
            return missing
        if accelerator not in ("cpu", "tpu"):
            return f"torch_xla2 supports cpu and tpu, not {accelerator}"
        # PyTorch/XLA's wheel holds an old copy of torchax without the JAX that it needs.
        absent = [name for name in ("torchax", "jax") if name not in machine.packages]
        return f"{absent[0]} is not installed: pip install torchax jax" if absent else None

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.test == "train":
            return "torch_xla2 converts only the module's forward pass, so it supports eval only"
        if config.dynamo is not None:
            return f"torch_xla2 cannot be combined with dynamo; remove --dynamo {config.dynamo}"
        if config.dtype == "amp":
            return "torch_xla2 has no autocast; use another --dtype"
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        warm = config.cache == "warm"
        return {
            **ACCELERATORS[config.accelerator].variables,
            "JAX_PLATFORMS": config.accelerator,
            "JAX_ENABLE_COMPILATION_CACHE": "true" if warm else "false",
            "JAX_COMPILATION_CACHE_DIR": str(scratch / "jax") if warm else "",
            "XLA_FLAGS": " ".join(config.xla_flags),
        }

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return JaxRuntime(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step

    def invalid(self) -> str | None:
        return None
