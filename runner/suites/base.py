"""What a suite is: a torch-free list of models, and a way to build one inside the measuring process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from store.record import Test, Weights


@dataclass(frozen=True, kw_only=True)
class SuiteContext:
    """What the command line or the environment tells a suite about this machine."""

    torchbench_dir: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ForcedDtype:
    """A dtype that a model is measured in where another, which it cannot, was asked for."""

    instead_of: tuple[str, ...]
    use: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """One model as planning sees it; a user's suite needs the name only."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other spellings under which it may be asked for."""
    skips: Mapping[Test, str] = field(default_factory=dict)
    """Reasons by the test in which the model does not run; `--no-skip` measures it all the same."""
    accelerator_skips: Mapping[str, str] = field(default_factory=dict)
    """Reasons by accelerator."""
    backend_skips: Mapping[str, str] = field(default_factory=dict)
    """Reasons by backend."""
    freezing_skips: Mapping[str, str] = field(default_factory=dict)
    """Reasons by accelerator why the model is not measured with folded parameters."""
    missing: str | None = None
    """Why the model cannot be built in this environment at all; `--no-skip` does not help."""
    dtypes: tuple[ForcedDtype, ...] = ()
    no_cudagraphs: str | None = None
    """Why the model is measured without CUDA graphs, whatever is asked for."""
    slow: str | None = None
    """How slow it is; `--fast` leaves it out."""


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """What the measuring process asks a suite to build, always on the CPU; the backend moves it."""

    model_name: str
    test: Test
    accelerator: str
    batch_size: int | None
    """Requested batch size, or None: the suite's own for this model, test and accelerator."""
    seed: int
    loss: str | None = None
    weights: Weights = "random"
    """`pretrained` asks for a download where the model offers one."""
    context: SuiteContext = field(default_factory=SuiteContext)


@dataclass(kw_only=True)
class Workload:
    """A built model on the CPU in float32, with the inputs of one iteration.

    The step calls `module(*args, **kwargs)`; in train `loss` reduces the output to a scalar tensor.
    """

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    batch_size: int | None
    """As resolved: what one iteration processes, in samples; None where the suite cannot tell."""
    loss: Callable[[Any], Any]
    loss_name: str
    weights: Weights = "random"
    """What it was built with: `random` also where pretrained ones could not be had."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the record should know of the build; they become its warnings."""


class Suite(Protocol):
    """A source of models.

    Beside these a suite may have `missing_packages(context, names)`: by model, the packages that it imports and that
    are not installed. A run names them before it starts.
    """

    name: str
    preload: Sequence[str]
    """Modules that the fork server imports once; importing them must run no tensor operation."""

    def unavailable(self, context: SuiteContext) -> str | None:
        """Say in one sentence why the suite cannot be used here and what to do, or None. Imports no torch."""

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List the models in a stable order. Imports no torch."""

    def versions(self, context: SuiteContext) -> Mapping[str, str]:
        """Return what identifies the suite's source beside package versions (such as a checkout's commit)."""

    def build(self, request: BuildRequest) -> Workload:
        """Build one model; runs in the measuring process and may import torch."""
