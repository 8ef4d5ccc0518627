"""The CPU: always there, finished when a call returns, and its memory is the process's."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.accelerators.base import Adapter, Device, only_first
from store.record import Accelerator

_CPUINFO = Path("/proc/cpuinfo")


class CpuDevice(Device):
    """The host as a device."""

    def __init__(self) -> None:
        import torch

        self.device: Any = torch.device("cpu")

    def synchronize(self) -> None:
        """Do nothing: an operation has finished when it returns."""

    def memory_reset(self) -> None:
        """Do nothing: the process's own high-water mark counts."""


class Cpu(Adapter):
    """The host's processor."""

    name: Accelerator = "cpu"
    amp_dtype = "bfloat16"
    has_events = False
    single_owner = False
    rewarm_s = 0.05
    out_of_memory: Sequence[str] = ("not enough memory", "bad_alloc", "can(no|')t allocate memory")
    variables: Mapping[str, str] = {"PJRT_DEVICE": "CPU"}

    def models(self) -> tuple[str, ...]:
        for line in _CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return (line.split(":", 1)[1].strip(),)
        return (platform.processor() or platform.machine(),)

    def absent(self) -> str:
        return "it names no processor"

    def open(self, index: int | None) -> CpuDevice:
        only_first(self.name, index)
        return CpuDevice()
