"""The runtime of the PyTorch/XLA backends: a PJRT device and its counters."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from runner.backends import dynamo
from runner.backends.base import Counters

if TYPE_CHECKING:
    from pathlib import Path

    from runner.machine import Machine
    from store.record import Accelerator, ExperimentConfig

PRELOAD = ("torch_xla", "torch_xla.core.xla_model", "torch_xla.debug.metrics")
_FALLBACK_PREFIX = "aten::"


def unavailable(accelerator: Accelerator, machine: Machine) -> str | None:
    """Say why PyTorch/XLA cannot run here."""
    if "torch_xla" not in machine.packages:
        torch = machine.packages.get("torch", "no torch")
        return (
            f"torch_xla is not installed beside torch {torch}: install the extra `xla` (torch 2.9.1, torch_xla 2.9.0)"
        )
    if accelerator == "cuda":
        return "PyTorch/XLA no longer supports CUDA devices"
    return None


def variables(config: ExperimentConfig, scratch: Path) -> dict[str, str]:
    """Return the variables of a PJRT process with its persistent cache off."""
    values = {
        "PJRT_DEVICE": config.accelerator.upper(),
        "XLA_FLAGS": " ".join(config.xla_flags),
        "XLA_DISABLE_FUNCTIONALIZATION": "0" if config.enable_functionalization else "1",
    }
    # Empty means off; a cache folder of the user's own environment is never used silently.
    values["XLA_PERSISTENT_CACHE_PATH"] = str(scratch / "xla") if config.cache == "warm" else ""
    return values


class XlaRuntime:
    """A PJRT device; work is recorded and runs when the graph is cut."""

    is_xla = True

    def __init__(self) -> None:
        import torch_xla
        from torch_xla.core import xla_model
        from torch_xla.debug import metrics

        self._torch_xla = torch_xla
        self._model = xla_model
        self._metrics = metrics
        began = time.perf_counter()
        self.device: Any = torch_xla.device()
        self._model.wait_device_ops()
        self.start_s = time.perf_counter() - began

    def after_iteration(self) -> None:
        self._torch_xla.sync()

    def after_block(self) -> None:
        self._model.wait_device_ops()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._model.set_rng_state(seed, str(self.device))
        self._torch_xla.sync()
        self._model.wait_device_ops()

    def counters(self) -> Counters:
        return Counters(
            compiles=self._number("CompileTime"),
            executions=self._number("ExecuteTime"),
            graphs=dynamo.graphs(),
            device_reads=self._number("TransferFromDeviceTime"),
        )

    def fallback_calls(self) -> dict[str, int]:
        names = [name for name in self._metrics.counter_names() if name.startswith(_FALLBACK_PREFIX)]
        return {name.removeprefix(_FALLBACK_PREFIX): int(self._metrics.counter_value(name) or 0) for name in names}

    def compiler_time_s(self) -> float | None:
        data = self._metrics.metric_data("CompileTime")
        return data[1] * 1e-9 if data else 0.0

    def metric(self, name: str) -> tuple[int, float]:
        """Return samples and total seconds of a time metric of the runtime."""
        data = self._metrics.metric_data(name)
        return (int(data[0]), data[1] * 1e-9) if data else (0, 0.0)

    def memory_reset(self) -> None:
        """Do nothing: the runtime gives no way to reset its high-water mark."""

    def memory_peak_bytes(self) -> int | None:
        if str(self.device.type) != "xla" or self._model.xla_device_hw(self.device) == "CPU":
            return None
        info = self._model.get_memory_info(self.device)
        return int(info["peak_bytes_used"]) if "peak_bytes_used" in info else None

    def _number(self, name: str) -> int:
        return self.metric(name)[0]
