"""NVIDIA GPUs, as `nvidia-smi` names them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence

from runner.accelerators import base
from runner.accelerators.base import Adapter, TorchDevice
from store.record import Accelerator


def _query(fields: str) -> list[str]:
    return base.tool_lines("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")


def _gpus() -> list[tuple[str, str]]:
    """Return UUID and name of each GPU, by index."""
    rows = [line.partition(", ") for line in _query("uuid,name")]
    return [(uuid, name) for uuid, _, name in rows]


def _mig_instances() -> list[tuple[str, str]]:
    """Return UUID and name of each part of a GPU that is in MIG mode, the name as torch has it."""
    found, gpu = [], ""
    for line in base.tool_lines("nvidia-smi", "-L"):
        if match := _LISTED.match(line):
            kind, name, uuid = match.groups()
            gpu = gpu if kind == "MIG" else name
            found += [(uuid, f"{gpu} MIG {name}")] if kind == "MIG" else []
    return found


_LISTED = re.compile(r"(GPU|MIG) (?:\d+: )?(.+?)(?: +Device +\d+:)? \(UUID: (.+)\)")


@functools.cache
def index_of(uuid: str) -> str:
    """Return the index of the GPU whose UUID begins so; the text itself if that is not one GPU."""
    indices = [str(index) for index, (known, _) in enumerate(_gpus()) if known.startswith(uuid)]
    return indices[0] if len(indices) == 1 else uuid


def _visible(named: list[tuple[str, str]]) -> list[str]:
    """Return the names that `CUDA_VISIBLE_DEVICES` lets a process see, in its order."""
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return [name for _, name in named]
    models = []
    parts = _mig_instances() if "MIG-" in wanted else []
    for word in wanted.replace(" ", "").split(","):
        match = [name for at, (uuid, name) in enumerate(named) if word == str(at) or (word and uuid.startswith(word))]
        match += [name for uuid, name in parts if word and uuid.startswith(word)]
        if not match:
            break  # as the driver does: what follows a device that is not there is hidden too
        models.append(match[0])
    return models


class CudaDevice(TorchDevice):
    """One NVIDIA GPU, with the memory that CUDA graphs keep.

    A graph is recorded into a pool of its own, and its replay uses that memory without allocating any of it again.
    """

    _idle_in_pools_bytes = 0
    """What the pools of graphs held beyond their allocations when the high-water mark was last set back."""

    def memory_reset(self) -> None:
        super().memory_reset()
        self._idle_in_pools_bytes = sum(
            segment["total_size"] - segment["allocated_size"]
            for segment in self._module.memory_snapshot()
            if segment["device"] == self.device.index and segment["segment_pool_id"] != _DEFAULT_POOL
        )

    def memory_peak_bytes(self) -> int:
        # An output of a graph that is alive at the peak only is in both terms, so their sum has a limit.
        held = self._module.max_memory_allocated(self.device) + self._idle_in_pools_bytes
        return int(min(held, self._module.max_memory_reserved(self.device)))


_DEFAULT_POOL = (0, 0)


class Cuda(Adapter):
    """NVIDIA GPUs through `torch.cuda`."""

    name: Accelerator = "cuda"
    amp_dtype = "float16"
    has_events = True
    single_owner = False
    rewarm_s = 0.2
    out_of_memory: Sequence[str] = ("CUDA out of memory", "CU(DNN|BLAS)_STATUS_ALLOC_FAILED", "cudaErrorMemoryAlloc")
    variables: Mapping[str, str] = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    """Environment variables that give each device the index that `nvidia-smi` shows."""

    def models(self) -> tuple[str, ...]:
        return tuple(_visible(_gpus()))

    def absent(self) -> str:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES") if _gpus() else None
        return "nvidia-smi lists none" if hidden is None else f"CUDA_VISIBLE_DEVICES={hidden} hides all of them"

    def driver(self) -> str | None:
        return next(iter(_query("driver_version")), None)

    def open(self, index: int | None) -> CudaDevice:
        return CudaDevice("cuda", index)
