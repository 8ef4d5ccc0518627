"""What an accelerator is: a kind of device that can be found without torch, and opened in a benchmark process."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from store.errors import UsageError
from store.record import Accelerator


class NoSuchDevice(UsageError, ValueError):
    """An index that a kind of accelerator does not have."""


def only_first(accelerator: Accelerator, index: int | None) -> None:
    """Refuse an index where a process has one device.

    Raises:
        NoSuchDevice: the index is not 0.
    """
    if index:
        raise NoSuchDevice(f"--device-index {index}: {accelerator} has one device for a process, index 0")


class Device(Protocol):
    """One opened device; made in a benchmark process only."""

    device: Any
    """The device as torch names it."""

    def synchronize(self) -> None:
        """Wait until the device has finished."""

    def memory_reset(self) -> None:
        """Set the high-water mark to the present use."""

    def memory_peak_bytes(self) -> int | None:
        """Return the high-water mark; None if the device uses the host's memory or reports none."""
        return None

    def timer(self) -> Timer | None:
        """Return a timer of the device's own; None where it has no events."""
        return None


class Adapter(Protocol):
    """A kind of accelerator. All but `open` works without torch."""

    name: Accelerator
    amp_dtype: str
    """Data type of autocast unless another one is requested."""
    has_events: bool
    """Whether the device can time itself."""
    single_owner: bool
    """Whether one process keeps all others from it, so that none can be stopped while another is measured."""
    rewarm_s: float
    """Minimum seconds of work after a stop until caches and clocks are restored."""
    out_of_memory: Sequence[str]
    """Regular expressions of what it says when its memory is full."""
    variables: Mapping[str, str]
    """Set in a benchmark process before first use."""

    def models(self) -> tuple[str, ...]:
        """Name the devices of this kind in the order of their indices; empty: there is none."""

    def absent(self) -> str:
        """Say what was looked for, as the end of `this machine has no … device: `."""

    def driver(self) -> str | None:
        """Return the version of the driver, if it is known."""
        return None

    def open(self, index: int | None) -> Device:
        """Start the device in a benchmark process; None is the first."""


_TIMEOUT_S = 10


def tool_lines(tool: str, *words: str) -> list[str]:
    """Return what the tool prints, without blank lines; nothing where it is missing, fails or hangs."""
    path = shutil.which(tool)
    if path is None:
        return []
    try:
        out = subprocess.run([path, *words], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in out.stdout.splitlines() if line.strip()]


_MS_PER_S = 1e3


class TorchDevice:
    """One device of a kind, through its module in torch.

    Raises:
        RuntimeError: the process was forked from one that had used the device.
    """

    def __init__(self, kind: str, index: int | None) -> None:
        import torch

        self._module: Any = getattr(torch, kind)
        if self._module._is_in_bad_fork():  # noqa: SLF001 - nothing public tells
            raise RuntimeError(
                f"a module that was imported before this process was forked has used {kind}, which forked processes "
                "then cannot use: pass --start interpreter"
            )
        self.device: Any = torch.device(kind, index or 0)
        self._module.init()
        # What a model allocates as plain `cuda` must lie beside its parameters.
        self._module.set_device(self.device)

    def synchronize(self) -> None:
        self._module.synchronize(self.device)

    def memory_reset(self) -> None:
        self._module.reset_peak_memory_stats(self.device)

    def memory_peak_bytes(self) -> int | None:
        return int(self._module.max_memory_allocated(self.device))

    def timer(self) -> Timer:
        return Timer(self._module)


class Timer:
    """Device time between pairs of events in the device's own queue: the sum of their spans."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._begins: list[Any] = []
        self._ends: list[Any] = []

    def begin(self) -> None:
        self._begins.append(self._mark())

    def end(self) -> None:
        self._ends.append(self._mark())

    def seconds(self) -> float:
        self._module.synchronize()
        spans = zip(self._begins, self._ends, strict=True)
        total = sum(begin.elapsed_time(end) for begin, end in spans)
        self._begins, self._ends = [], []
        return float(total) / _MS_PER_S

    def _mark(self) -> Any:
        event = self._module.Event(enable_timing=True)
        event.record()
        return event
