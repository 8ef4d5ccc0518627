"""The accelerators by name; a new one is a file and a line here."""

from __future__ import annotations

import re
from collections.abc import Mapping

from runner.accelerators.base import Adapter, NoSuchDevice, only_first
from runner.accelerators.cpu import Cpu
from runner.accelerators.cuda import Cuda
from runner.accelerators.tpu import Tpu
from runner.accelerators.xpu import Xpu
from store.record import Accelerator

ACCELERATORS: Mapping[Accelerator, Adapter] = {"cpu": Cpu(), "cuda": Cuda(), "tpu": Tpu(), "xpu": Xpu()}
_INDEXED = ("cuda", "xpu")

OUT_OF_MEMORY = re.compile(
    "|".join(
        ["out of memory", "OutOfMemory", *(word for adapter in ACCELERATORS.values() for word in adapter.out_of_memory)]
    ),
    re.IGNORECASE,
)
"""Messages of devices whose memory is full, in exceptions of many types and in logs."""


def refuse_index(accelerator: Accelerator, index: int, devices: int | None) -> None:
    """Refuse an index that no device has; `devices` is how many there are, where that is known.

    Raises:
        NoSuchDevice: with the indices that there are.
    """
    if accelerator not in _INDEXED:
        only_first(accelerator, index)
    elif devices is not None and index >= devices:
        have = "index 0 only" if devices == 1 else f"indices 0 to {devices - 1}"
        raise NoSuchDevice(f"--device-index {index}: the {accelerator} devices of this machine have {have}")
