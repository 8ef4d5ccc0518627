"""TPUs, which only PyTorch/XLA drives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.accelerators.base import Adapter, Device, only_first
from store.record import Accelerator

_DEV = Path("/dev")


class TpuDevice(Device):
    """A TPU core through PyTorch/XLA."""

    def __init__(self) -> None:
        import torch_xla
        from torch_xla.core import xla_model

        self._model: Any = xla_model
        self.device: Any = torch_xla.device()

    def synchronize(self) -> None:
        self._model.wait_device_ops()

    def memory_reset(self) -> None:
        """Do nothing: the runtime gives no way to reset its high-water mark."""

    def memory_peak_bytes(self) -> int | None:
        info = self._model.get_memory_info(self.device)
        return int(info["peak_bytes_used"]) if "peak_bytes_used" in info else None


class Tpu(Adapter):
    """A TPU host's cores; a process owns them all."""

    name: Accelerator = "tpu"
    amp_dtype = "bfloat16"
    has_events = False
    single_owner = True
    rewarm_s = 0.0
    out_of_memory: Sequence[str] = ("RESOURCE_EXHAUSTED", "Ran out of memory in memory space")
    variables: Mapping[str, str] = {"PJRT_DEVICE": "TPU"}

    def models(self) -> tuple[str, ...]:
        nodes = [*_DEV.glob("accel[0-9]*"), *_DEV.glob("vfio/[0-9]*")]
        return (os.environ.get("TPU_ACCELERATOR_TYPE", "tpu"),) * len(nodes)

    def absent(self) -> str:
        return "there is no /dev/accel* and no /dev/vfio/*"

    def open(self, index: int | None) -> TpuDevice:
        only_first(self.name, index)
        return TpuDevice()
