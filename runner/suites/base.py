"""What a suite is: a torch-free list of models, and a way to build one inside the benchmark process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec

from runner.settings import OwnModel
from runner.workload import Workload
from store.errors import XlabenchError
from store.record import ExperimentConfig, Operator, Source, Test, UsedBy, Weights


@dataclass(frozen=True, kw_only=True)
class SuiteContext:
    """What the command line or the environment says about this machine."""

    torchbench_dir: Path | None = None
    operator_configs: tuple[str, ...] = ()
    """Configurations of suite `operators`: paths of files, or their JSON itself."""
    discrete: bool = False
    """Suite `operators` waits for each call."""
    clear_cache: bool = False
    """Suite `operators` clears the L2 cache before each call."""
    own: tuple[TriedModel, ...] = ()
    """Models of suite `own`."""


@dataclass(frozen=True, kw_only=True)
class TriedModel:
    """A model of the user's own, as the process that tried it has found it."""

    model: OwnModel
    dtype: str = "float32"
    """The type of its weights, if all have the same one."""
    trains: bool = False
    """Whether the model has a loss or training step of its own."""
    too_large: str | None = None
    """How the trial of the model ended, if the machine has too little memory."""

    @property
    def source(self) -> Source:
        """Return what records contain of its source."""
        return Source(name=self.model.title, sha256=self.model.sha256, inputs=self.model.inputs)


def local_context(torchbench_dir: str | None, own: OwnModel | None) -> SuiteContext:
    """Return what a benchmark process needs to know about this machine."""
    directory = Path(torchbench_dir) if torchbench_dir else None
    return SuiteContext(torchbench_dir=directory, own=() if own is None else (TriedModel(model=own),))


class ForcedDtype(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dtype that replaces others, for all variants of a model that cannot run in them."""

    instead_of: tuple[str, ...]
    use: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """One model as planning sees it; a user's suite needs the name only."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other names by which it may be selected."""
    skips: Mapping[Test, str] = field(default_factory=dict)
    """Test → reason why the model does not run in it; `--no-skip` measures it anyway."""
    accelerator_skips: Mapping[str, str] = field(default_factory=dict)
    """Accelerator → reason why the model does not run on it."""
    backend_skips: Mapping[str, str] = field(default_factory=dict)
    """Backend → reason why the model does not run under it."""
    freezing_skips: Mapping[str, str] = field(default_factory=dict)
    """Accelerator → reason why the model is not measured with frozen parameters."""
    missing: str | None = None
    """Why the model cannot be built in this environment at all; `--no-skip` does not help."""
    dtypes: tuple[ForcedDtype, ...] = ()
    no_cudagraphs: str | None = None
    """Why the model is always measured without CUDA graphs."""
    slow: str | None = None
    """How slow the model is; `--fast` excludes it."""
    operator: Operator | None = None
    """The operator to build and call (suite `operators`); it becomes part of the experiment's configuration."""
    used_by: UsedBy | None = None
    """The model that an operator was recorded from."""
    tests: tuple[Test, ...] = ()
    """Tests that are measured by default; empty means all tests."""
    source: Source | None = None
    """Where the model comes from (suite `own`); it becomes part of the experiment's configuration."""


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """What a suite builds in the benchmark process, always on the CPU; the backend moves it."""

    model_name: str
    test: Test
    accelerator: str
    batch_size: int | None
    """Requested batch size, or None: the suite's own for this model, test and accelerator."""
    seed: int
    loss: str | None = None
    weights: Weights = "random"
    """`pretrained` asks for a download where the model offers one."""
    operator: Operator | None = None
    context: SuiteContext = field(default_factory=SuiteContext)

    @classmethod
    def of(cls, config: ExperimentConfig, **fields: Any) -> BuildRequest:
        """Return the request for the model of an experiment."""
        names = ("model_name", "test", "accelerator", "loss", "weights", "operator")
        return cls(**{name: getattr(config, name) for name in names} | fields)


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    """Source text that builds a model without its suite, for a script of one file."""

    text: str
    """A module with a function `build()` that returns module, arguments, keywords and loss. What it imports from
    `runner` by name at its top is copied into the script, so that may import no more than torch."""
    packages: tuple[str, ...] = ()
    """Packages that it needs besides torch, by their names for pip."""


class Suite(Protocol):
    """A source of models.

    Beside these a suite may have three methods. `unlisted(context, name)`: what planning needs to know of a model that
    it can build and does not list, or None; such a model is measured where its exact name is given.
    `missing_packages(context, names)`: by model, the packages that it imports and that are not installed; a run names
    them before it starts. `source(request)`: a `ModelSource`, so that scripts of `xlabench repro` build the model
    without xlabench.
    """

    name: str
    preload: Sequence[str]
    """Modules that the fork server imports once; importing them must run no tensor operation."""

    def unavailable(self, context: SuiteContext) -> str | None:
        """Say in one sentence why the suite cannot be used here and what to do, or None. Imports no torch."""
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List the models in a stable order. Imports no torch."""

    def versions(self, context: SuiteContext) -> Mapping[str, str]:
        """Return what identifies the suite's source apart from package versions, such as a checkout's commit."""
        return {}

    def build(self, request: BuildRequest) -> Workload:
        """Build one model; runs in the benchmark process and may import torch."""


# What can go wrong while naming a suite or building a model of it.


class SuiteError(XlabenchError):
    """Base of all errors here; its text is one sentence that ends with what to do."""


class UnknownSuiteError(SuiteError):
    """No suite has this name."""


class UserSuiteError(SuiteError):
    """An entry of `XLABENCH_SUITES` does not name a suite."""


class SuiteUnavailableError(SuiteError):
    """The suite cannot be used on this machine."""


class UnknownModelError(SuiteError):
    """The suite has no model of this name."""


class UnsupportedModelError(SuiteError):
    """The model does not run in the requested test or on the requested accelerator."""


class UnknownLossError(SuiteError):
    """The suite offers no loss of this name."""


class SuiteDataError(SuiteError):
    """A data file of a suite does not have the documented form."""
