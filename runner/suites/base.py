"""What a suite is: a torch-free list of models, and a way to build one inside the measuring process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from store.record import Test


@dataclass(frozen=True, kw_only=True)
class SuiteContext:
    """What the command line or the environment tells a suite about this machine."""

    torchbench_dir: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """One model as planning sees it.

    `skips` maps a test to the reason why the model does not run in it.
    """

    name: str
    skips: Mapping[Test, str] = field(default_factory=dict)


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


class Suite(Protocol):
    """A source of models."""

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
