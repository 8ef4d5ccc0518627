"""NVIDIA GPUs, as `nvidia-smi` names them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from runner.accelerators import base
from runner.accelerators.base import Adapter, TorchDevice
from store.record import Accelerator


def _query(fields: str) -> list[str]:
    return base.tool_lines("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")


def _visible(named: list[tuple[str, str]]) -> list[str]:
    """Return the names that `CUDA_VISIBLE_DEVICES` lets a process see, in its order."""
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return [name for _, name in named]
    models = []
    for word in wanted.replace(" ", "").split(","):
        match = [name for at, (uuid, name) in enumerate(named) if word == str(at) or (word and uuid.startswith(word))]
        if not match:
            break  # as the driver does: what follows a device that is not there is hidden too
        models.append(match[0])
    return models


class Cuda(Adapter):
    """NVIDIA GPUs through `torch.cuda`."""

    name: Accelerator = "cuda"
    amp_dtype = "float16"
    has_events = True
    single_owner = False
    rewarm_s = 0.2
    out_of_memory: Sequence[str] = ("CUDA out of memory", "CU(DNN|BLAS)_STATUS_ALLOC_FAILED", "cudaErrorMemoryAlloc")
    variables: Mapping[str, str] = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    """So that a device's index is the one that `nvidia-smi` shows."""

    def models(self) -> tuple[str, ...]:
        rows = [line.partition(", ") for line in _query("uuid,name")]
        return tuple(_visible([(uuid, name) for uuid, _, name in rows]))

    def absent(self) -> str:
        return "nvidia-smi names none"

    def driver(self) -> str | None:
        return next(iter(_query("driver_version")), None)

    def open(self, index: int | None) -> TorchDevice:
        return TorchDevice("cuda", index)
