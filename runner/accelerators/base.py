"""What an accelerator is: a kind of device that can be found without torch, and opened in a measuring process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.record import Accelerator


class NoSuchDevice(ValueError):
    """An index that a kind of accelerator does not have."""


def only_first(accelerator: Accelerator, index: int | None) -> None:
    """Refuse an index where a process has one device.

    Raises:
        NoSuchDevice: the index is not 0.
    """
    if index:
        raise NoSuchDevice(f"--device-index {index}: {accelerator} has one device for a process, index 0")


class Timer(Protocol):
    """Device time between two points of the device's own queue."""

    def begin(self) -> None:
        """Mark the start."""

    def end(self) -> None:
        """Mark the end of the span begun last."""

    def seconds(self) -> float:
        """Wait for the marks and return the spans' sum; the timer is empty afterwards."""


class Device(Protocol):
    """One opened device; made in a measuring process only."""

    device: Any
    """The device as torch names it."""

    def synchronize(self) -> None:
        """Wait until the device has finished."""

    def memory_reset(self) -> None:
        """Set the high-water mark to the present use."""

    def memory_peak_bytes(self) -> int | None:
        """Return the high-water mark; None where the host's memory is the device's or none can be had."""

    def timer(self) -> Timer | None:
        """Return a timer of the device's own; None where it has no events."""


class Adapter(Protocol):
    """A kind of accelerator. All but `open` works without torch."""

    name: Accelerator
    amp_dtype: str
    """What autocast lowers to where nothing else is asked for."""
    has_events: bool
    """Whether the device can time itself."""
    single_owner: bool
    """Whether one process keeps all others from it, so that none can be stopped while another is measured."""
    rewarm_s: float
    """How long a process that was stopped has to work until caches and clocks are what they were, at least."""
    out_of_memory: Sequence[str]
    """Regular expressions of what it says when its memory is full."""
    variables: Mapping[str, str]
    """Set in a measuring process before first use."""

    def models(self) -> tuple[str, ...]:
        """Name the devices of this kind in the order of their indices; empty: there is none."""

    def absent(self) -> str:
        """Say what was looked for, as the end of `this machine has no … device: `."""

    def driver(self) -> str | None:
        """Return the version of the driver, where it tells."""

    def open(self, index: int | None) -> Device:
        """Start the device in a measuring process; None is the first."""
