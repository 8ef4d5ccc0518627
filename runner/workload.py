"""What suites build and backends run: a workload, and the device side of a benchmark process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.accelerators.base import Timer
from store.record import Replacement, Test, Weights


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
    """The device side of a benchmark process. Created in that process only, torch imported.

    What a runtime does not report stays as it is here.
    """

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
        return None

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
        return {}

    def replacements(self) -> list[Replacement]:
        """Return the replacements of ops that would run outside the compiler, and how often each was called."""
        return []

    def transfers(self) -> dict[str, float]:
        """Read transfers so far, by the ends of their metrics' names; empty where the runtime does not report them."""
        return {}

    def memory_reset(self) -> None:
        """Set the device's high-water mark to its present use."""

    def memory_peak_bytes(self) -> int | None:
        """Return the device's high-water mark; None if the device uses the host's memory or reports none."""


class OwnStep(Protocol):
    """A step that cuts the graph itself, where and as often as its workload needs it."""

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one iteration, cut; what is returned has to be kept until the block is finished."""

    def uncut(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one iteration without a cut, for those who look at its graph."""

    def empty(self) -> None:
        """Cut as an iteration does, with nothing to compute: what this costs is the floor of what can be measured."""

    def take_seconds(self) -> dict[str, float]:
        """Return seconds of one iteration by phase, the median since this was asked last; empty where blocks are timed.

        Their sum is what is timed.
        """

    @property
    def input_bytes(self) -> int:
        """Return bytes of the tensors that an iteration is given, parameters and buffers included."""


@dataclass(kw_only=True)
class Workload:
    """A built model on the CPU in float32, with the inputs of one iteration.

    The step calls `module(*args, **kwargs)`; in train `loss` reduces the output to a scalar tensor.
    """

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    batch_size: int | None
    """The resolved number of samples that one iteration processes; None if the suite cannot tell."""
    loss: Callable[[Any], Any]
    loss_name: str
    weights: Weights = "random"
    """What it was built with: `random` also where pretrained ones were unavailable."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the record should know of the build; they become its warnings."""
    own_step: Callable[[Workload, Test, Runtime, Callable[[Callable[..., Any]], Any], Timer | None], OwnStep] | None = (
        None
    )
    """Makes the step where it is not that of a model; None: `module`, in train with loss and backward.

    It is given the workload on its device, the test, the runtime, what compiles a function `(args, kwargs)`, and the
    device's own timer if that is to time the parts of an iteration.
    """
    shared_inputs: bool = False
    """The iterations of a block are called with the same inputs; else each with a copy of its own."""
    train_step: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None
    """A whole iteration of train, which replaces forward, loss and backward; it is measured as it is."""
    optimizers: list[Any] = field(default_factory=list)
    """Optimizers of `train_step`: they follow the module's parameters to the device."""
    least_block_s: float = 0.0
    """A timed block repeats its iterations in an inner loop until it lasts as long."""
