"""The use of an NVIDIA GPU by other processes, and whether its clocks are held down, from NVML."""

from __future__ import annotations

import contextlib
import importlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.environments import proc

_SLOWDOWN = 0x8
_THERMAL, _THERMAL_HARDWARE = 0x20, 0x40
_POWER_BRAKE = 0x80
CLOCK_LIMITS = _SLOWDOWN | _THERMAL | _THERMAL_HARDWARE | _POWER_BRAKE
"""Bits of NVML's reasons for lower clocks that count: heat and brakes of the hardware. The power cap that a model's own
work reaches is no disturbance, and neither are clocks that the administrator has set."""


def number(index: int | None) -> str:
    """Return the index or UUID by which NVIDIA's tools know the GPU that a process sees under an index."""
    index = index or 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").replace(" ", "").split(",")
    return visible[index] if index < len(visible) and visible[index] else str(index)


@dataclass(frozen=True, kw_only=True)
class GpuUse:
    """What happened on the GPU since the look before; None where NVML reports nothing."""

    others_share: float | None
    """Largest share of one of NVML's sampling periods in which kernels of a process outside this run were at work."""
    slowed: bool | None
    """Whether heat or a power brake holds its clocks down now."""


@dataclass
class Gpu:
    """One GPU; `look` takes less than a millisecond and is called between turns."""

    number: str
    """Its index in the order of PCI buses, or its UUID."""
    root: int = field(default_factory=os.getpid)
    """This process and all below it are the run."""
    nvml: Any = None
    """Module `pynvml`; None if it, the driver or the device is missing: then nothing is known."""
    machine: proc.KernelFiles = field(default_factory=proc.KernelFiles)
    _device: Any = None
    _seen_us: int = 0

    def __post_init__(self) -> None:
        with contextlib.suppress(Exception):  # of the library, the driver or the device
            self.nvml = self.nvml or importlib.import_module("pynvml")
            self.nvml.nvmlInit()
            by = self.nvml.nvmlDeviceGetHandleByIndex if self.number.isdigit() else self.nvml.nvmlDeviceGetHandleByUUID
            self._device = by(int(self.number) if self.number.isdigit() else self.number)

    def look(self) -> GpuUse:
        """Return what has happened since the look before; the first one covers the driver's last second."""
        if self._device is None:
            return GpuUse(others_share=None, slowed=None)
        return GpuUse(others_share=self._others_share(), slowed=self._slowed())

    def _others_share(self) -> float | None:
        try:
            samples = self.nvml.nvmlDeviceGetProcessUtilization(self._device, self._seen_us)
        except self.nvml.NVMLError as error:
            # No sample since then: no process has used it. Other errors come from devices without this counter.
            return 0.0 if getattr(error, "value", None) == self.nvml.NVML_ERROR_NOT_FOUND else None
        self._seen_us = max((sample.timeStamp for sample in samples), default=self._seen_us)
        own = set(self.machine.tree(self.root) or ())
        # Outside a container the same process has another number, which is unknown here: then nothing is known.
        known = [sample for sample in samples if Path(f"/proc/{sample.pid}").exists()]
        if samples and not known:
            return None
        return max((sample.smUtil / 100 for sample in known if sample.pid not in own), default=0.0)

    def _slowed(self) -> bool | None:
        try:
            reasons = self.nvml.nvmlDeviceGetCurrentClocksEventReasons(self._device)
        except self.nvml.NVMLError:
            return None
        return bool(reasons & CLOCK_LIMITS)
