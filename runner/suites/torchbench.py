"""Suite `torchbench`: the models of a checkout of github.com/pytorch/benchmark."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from runner.suites import data, torchbench_checkout
from runner.suites.base import (
    BuildRequest,
    ModelInfo,
    SuiteContext,
    SuiteUnavailableError,
    UnknownModelError,
    UnsupportedModelError,
)
from runner.suites.data import Tables
from runner.workload import Workload
from store.record import Weights

_FILE = "torchbench.yaml"


class BatchSize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A batch size that replaces a model's own."""

    size: int
    reason: str


class TorchbenchData(Tables, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`torchbench.yaml`, whose header explains the fields."""

    batch_size: dict[str, dict[str, BatchSize]]
    fixed_batch_size: dict[str, str]


class TorchbenchSuite:
    """Weights that a model would download are random (`random_weights.py`); the measured shapes stay the same."""

    name: str = "torchbench"
    preload: Sequence[str] = ("torchvision", "timm")

    def unavailable(self, context: SuiteContext) -> str | None:
        """Say that there is no checkout and how to get one, or return None."""
        if torchbench_checkout.find(context.torchbench_dir) is None:
            return torchbench_checkout.advice(context.torchbench_dir)
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List the models of the checkout by name; an empty list without one."""
        checkout = torchbench_checkout.find(context.torchbench_dir)
        names = torchbench_checkout.model_names(checkout) if checkout else []
        return [_data().info(name) for name in names]

    def versions(self, context: SuiteContext) -> Mapping[str, str]:
        """Return the checkout's commit as `torchbench_commit`, where it is known."""
        checkout = torchbench_checkout.find(context.torchbench_dir)
        commit = torchbench_checkout.commit(checkout) if checkout else None
        return {"torchbench_commit": commit} if commit else {}

    def missing_packages(self, context: SuiteContext, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return for each model the packages that it imports and that are not installed; found by reading."""
        checkout = torchbench_checkout.find(context.torchbench_dir)
        return torchbench_checkout.missing_packages(checkout, names) if checkout else {}

    def build(self, request: BuildRequest) -> Workload:
        """Build one model through its `Model` class and `get_module()`, as the TorchDynamo harness does."""
        checkout = torchbench_checkout.find(request.context.torchbench_dir)
        if checkout is None:
            raise SuiteUnavailableError(torchbench_checkout.advice(request.context.torchbench_dir))
        if request.model_name not in torchbench_checkout.model_names(checkout):
            raise UnknownModelError(
                f"The torchbench checkout has no model {request.model_name!r}; list its torchbenchmark/models folder."
            )

        facts = _data()
        default = facts.batch_size[request.test].get(request.model_name)
        return _build(
            checkout,
            request,
            fixed_batch_size=request.model_name in facts.fixed_batch_size,
            default_batch_size=default.size if default else None,
        )


@cache
def _data() -> TorchbenchData:
    return data.load(_FILE, TorchbenchData)


def _build(
    checkout: Path, request: BuildRequest, *, fixed_batch_size: bool, default_batch_size: int | None
) -> Workload:
    """Build the model in the test's mode with the request's seed; pretrained weights that cannot be had are random."""
    from runner.suites.building import choose_loss, sum_of_outputs
    from runner.suites.random_weights import could_not

    loss, loss_name = choose_loss(request.loss, {"sum": sum_of_outputs}, suite=SUITE.name)
    notes = []
    with _visiting(checkout, request.seed):
        model_class = _model_class(request.model_name)
        batch_size = request.batch_size if request.batch_size is not None else default_batch_size
        if fixed_batch_size or not getattr(model_class, "ALLOW_CUSTOMIZE_BSIZE", True):
            batch_size = None
        weights = request.weights
        try:
            model = _make(model_class, request, batch_size, weights)
        except Exception as error:
            if weights == "random":
                raise
            notes.append(could_not(request.model_name, error))
            weights = "random"
            model = _make(model_class, request, batch_size, weights)
    args, kwargs = _arguments(request.model_name, model.inputs, model.batch_size)
    model.module.train(request.test == "train")
    return Workload(
        module=model.module,
        args=args,
        kwargs=kwargs,
        batch_size=model.batch_size,
        loss=loss,
        loss_name=loss_name,
        weights="pretrained" if weights == "pretrained" and model.downloads else "random",
        notes=notes + model.notes(weights),
    )


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A model as its constructor left it, and the downloads that it asked for."""

    module: Any
    inputs: Any
    batch_size: int | None
    downloads: list[str]
    configurations: list[str]

    def notes(self, weights: Weights) -> list[str]:
        sentences = [f"{name}: configuration built here in place of a download" for name in self.configurations]
        if weights == "random":
            return [f"{name}: random weights in place of a pretrained download" for name in self.downloads] + sentences
        return sentences if self.downloads else [*sentences, "the model offers no pretrained weights: they are random"]


def _make(model_class: Any, request: BuildRequest, batch_size: int | None, weights: Weights) -> _Made:
    from runner.suites.building import seed_everything
    from runner.suites.random_weights import hub_or_cache, local_configurations, record_requested_weights

    seed_everything(request.seed)
    # A model that uses transformers has imported it by now; other models do not need the import.
    locally = weights == "random" and "transformers" in sys.modules
    configurations: list[str] = []
    with record_requested_weights(weights) as requested, contextlib.ExitStack() as also:
        if locally:
            configurations = also.enter_context(local_configurations())
        if weights == "pretrained":
            also.enter_context(hub_or_cache())
        model = model_class(test=request.test, device="cpu", batch_size=batch_size)
        module, inputs = model.get_module()
    return _Made(
        module=module, inputs=inputs, batch_size=model.batch_size, downloads=requested, configurations=configurations
    )


def _model_class(name: str) -> Any:
    module = importlib.import_module(f"torchbenchmark.models.{name}")
    model_class = getattr(module, "Model", None)
    if model_class is None:
        raise UnsupportedModelError(f"torchbench {name} defines no Model for this platform; choose another model.")
    if not hasattr(model_class, "name"):
        model_class.name = name
    return model_class


def _arguments(name: str, inputs: Any, batch_size: int | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments as PyTorch/XLA's runner passes them (`torchbench_model.py`)."""
    if name == "yolov3":
        import torch

        # Its get_module() returns images of a size that only its own training loop can use.
        return (torch.rand(batch_size or 1, 3, 384, 512),), {}
    if isinstance(inputs, dict):
        return ((inputs["input_ids"],), {}) if "input_ids" in inputs else ((), dict(inputs))
    return tuple(inputs), {}


@contextlib.contextmanager
def _visiting(checkout: Path, seed: int) -> Iterator[None]:
    """Import from the checkout and work in it; afterwards the process is as before.

    Torchbench replaces `torch.manual_seed` by one that ignores its argument, and some models set cuDNN flags;
    either would change what is measured after the build.
    """
    import torch

    manual_seed, cudnn = torch.manual_seed, torch.backends.cudnn
    flags = (cudnn.deterministic, cudnn.benchmark)
    # Silences a warning of torchaudio's Kaldi bindings, which no model here uses.
    os.environ.setdefault("KALDI_ROOT", os.devnull)
    sys.path.insert(0, str(checkout))
    try:
        with contextlib.chdir(checkout):
            env_check: Any = importlib.import_module("torchbenchmark.util.env_check")
            env_check.MAIN_RANDOM_SEED = seed
            yield
    finally:
        sys.path.remove(str(checkout))
        torch.manual_seed = manual_seed
        cudnn.deterministic, cudnn.benchmark = flags


SUITE = TorchbenchSuite()
