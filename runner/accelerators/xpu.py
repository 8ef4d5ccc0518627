"""Intel GPUs: found by `xpu-smi`, else as render nodes of Intel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.accelerators import base
from runner.accelerators.base import Adapter, TorchDevice
from store.record import Accelerator

_NODES = Path("/sys/class/drm")
_VENDOR = "0x8086"
_DEVICE_NAME = "2"
"""`xpu-smi discovery --dump` numbers its columns."""


def _render_nodes() -> tuple[str, ...]:
    """Name Intel's render nodes by their PCI device numbers."""
    models = []
    for node in sorted(_NODES.glob("renderD*")):
        vendor, device = node / "device/vendor", node / "device/device"
        if vendor.exists() and vendor.read_text().strip() == _VENDOR:
            models.append(f"Intel GPU {device.read_text().strip()}" if device.exists() else "Intel GPU")
    return tuple(models)


class Xpu(Adapter):
    """Intel GPUs through `torch.xpu`."""

    name: Accelerator = "xpu"
    amp_dtype = "bfloat16"
    has_events = True
    single_owner = False
    rewarm_s = 0.2
    out_of_memory: Sequence[str] = ("XPU out of memory", "ERROR_OUT_OF_(DEVICE|HOST)_MEMORY")
    variables: Mapping[str, str] = {}

    def models(self) -> tuple[str, ...]:
        dumped = base.tool_lines("xpu-smi", "discovery", "--dump", _DEVICE_NAME)
        names = tuple(line.strip('"') for line in dumped[1:])
        return names or _render_nodes()

    def absent(self) -> str:
        return "xpu-smi lists none, and there is no Intel render node"

    def open(self, index: int | None) -> TorchDevice:
        return TorchDevice("xpu", index)
