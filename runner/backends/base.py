"""What a backend is: one way to compile and run a step, and the runtime it does it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runner.accelerators.base import Timer
    from runner.environments.machine import Machine
    from runner.suites.base import Workload
    from store.record import Accelerator, ExperimentConfig, Replacement


@dataclass(frozen=True)
class Counters:
    """What has happened since the process began; None where the runtime does not report it.

    `graphs` are dynamo's captures where `compiles` counts another compiler's work; `device_reads` are transfers of
    results to the host.
    """

    compiles: int | None = None
    executions: int | None = None
    graphs: int | None = None
    device_reads: int | None = None


class Runtime(Protocol):
    """The device side of a measuring process. Created in that process only, torch imported."""

    device: Any
    is_xla: bool
    start_s: float
    """What starting the runtime's client cost; no compile time."""

    def place(self, workload: Workload) -> None:
        """Bring the module, its inputs and its loss to where a step finds them."""

    def to_device(self, inputs: Any) -> Any:
        """Bring one iteration's inputs from the host to where a step finds them."""

    def to_host(self, output: Any) -> Any:
        """Bring what a step returned to the host; the same structure, finished."""

    def timer(self) -> Timer | None:
        """Return a timer of the device's own; None where it has no events."""

    def after_iteration(self) -> None:
        """Cut and launch what the iteration has recorded."""

    def after_block(self) -> None:
        """Wait until the device has finished."""

    def seed(self, seed: int) -> None:
        """Reset every random stream and wait until that is done."""

    def counters(self) -> Counters:
        """Read what has happened so far."""

    def fallback_calls(self) -> dict[str, int]:
        """Read calls per op that ran outside the compiler; names without `aten::`."""

    def replacements(self) -> list[Replacement]:
        """Return what stands in for ops that would run outside the compiler, and how often it was called."""

    def compiler_time_s(self) -> float | None:
        """Return the compile time that the runtime's compiler reports so far, seconds."""

    def transfers(self) -> dict[str, float]:
        """Read transfers so far, by the ends of their metrics' names; empty where the runtime does not report them."""

    def memory_reset(self) -> None:
        """Set the device's high-water mark to its present use."""

    def memory_peak_bytes(self) -> int | None:
        """Return the device's high-water mark; None where the host's memory is the device's or none can be had."""


class Backend(Protocol):
    """One way to compile, found by the (xla, dynamo, torch_xla2) of a configuration."""

    name: str
    preload: Sequence[str]
    """Modules that the fork server imports once where the plan holds this backend."""

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        """Say why this machine cannot run it, or None. Imports no torch."""

    def refuses(self, config: ExperimentConfig) -> str | None:
        """Say why it can measure this configuration on no machine, or None. Imports no torch."""

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        """Return environment variables to set in the measuring process before first use."""

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        """Start the runtime in the measuring process, on the device of that index; None is the first."""

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        """Return the step as this backend runs it."""

    def invalid(self) -> str | None:
        """Say after the run why its numbers are no measurement of this backend, or None."""
