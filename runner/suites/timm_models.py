"""Suite `timm_models`: image classifiers from the PyPI package timm, by default with random weights."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from runner.suites import data
from runner.suites.base import BuildRequest, ModelInfo, ModelSource, Suite, SuiteContext
from runner.suites.data import Tables
from runner.workload import Workload
from store.record import Weights

_FILE = "timm_models.yaml"
_UNLISTED_BATCH: dict[str, data.BatchSize] = {"cpu": 2, "other": 32}
"""Batch sizes of a model without an entry."""
_HEAD_STD = 0.02


class TimmModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `timm_models.yaml`, whose header explains the fields."""

    batch_size: dict[str, data.BatchSize]
    create: str | None = None
    aliases: tuple[str, ...] = ()
    input_size: dict[str, tuple[int, int, int]] = {}
    calibrate_batchnorm: bool = False


class TimmData(Tables, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`timm_models.yaml`."""

    models: dict[str, TimmModel]


class TimmSuite(Suite):
    """By default nothing is downloaded; shapes and arithmetic are those of the published models."""

    name: str = "timm_models"
    preload: Sequence[str] = ("torch", "torchvision", "timm")

    def unavailable(self, context: SuiteContext) -> str | None:
        if importlib.util.find_spec("timm") is None:
            return "Suite timm_models needs the package timm: pip install 'xlabench[runner]'."
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        return [_data().info(name, model.aliases) for name, model in _data().models.items()]

    def unlisted(self, context: SuiteContext, name: str) -> ModelInfo | None:
        """Return a model that timm has and the data file does not; `NAME.TAG` is one of NAME's sets of weights."""
        return ModelInfo(name=name) if name.partition(".")[0] in data.timm_models() else None

    def build(self, request: BuildRequest) -> Workload:
        """Build one model with a standard normal input, as its default configuration shapes it."""
        import torch

        from runner.suites import building

        model = _model(request.model_name)
        batch_size = data.batch_size(request.batch_size, model.batch_size, request.accelerator, request.test)
        building.seed_everything(request.seed)
        built = create(model.create or request.model_name, request.weights, request.seed)
        module = built.module
        sizes = model.input_size or {data.OTHER: module.default_cfg["input_size"]}
        inputs = torch.randn(batch_size, *data.for_accelerator(sizes, request.accelerator))
        # Pure feature extractors (num_classes 0) return their features, which then stand for the classes.
        targets = torch.randint(0, module.num_classes or module.num_features, (batch_size,))
        notes = list(built.notes)
        if model.calibrate_batchnorm and built.weights == "random" and (why := building.calibrate(module, inputs)):
            notes.append(why)
        offered: dict[str, Callable[[Any], Any]] = {
            "cross_entropy": building.CrossEntropy(targets),
            "sum": building.sum_of_outputs,
        }
        loss, loss_name = building.choose_loss(request.loss, offered, suite=self.name)
        return Workload(
            module=module.train(request.test == "train"),
            args=(inputs,),
            batch_size=batch_size,
            loss=loss,
            loss_name=loss_name,
            weights=built.weights,
            notes=notes,
        )

    def source(self, request: BuildRequest) -> ModelSource:
        """Return the same as text; weights are random."""
        model = _model(request.model_name)
        size = data.for_accelerator(model.input_size, request.accelerator) if model.input_size else None
        text = _SOURCE.format(
            name=model.create or request.model_name,
            batch_size=data.batch_size(request.batch_size, model.batch_size, request.accelerator, request.test),
            size=repr(size) if size else 'module.default_cfg["input_size"]',
            seed=request.seed,
            loss="sum_of_outputs" if request.loss == "sum" else "CrossEntropy(targets)",
            calibrate="calibrate(module, inputs)" if model.calibrate_batchnorm else "",
        )
        return ModelSource(text=text, packages=("timm",))


_SOURCE = """
import timm
import torch

from runner.suites.building import CrossEntropy, calibrate, seed_everything, sum_of_outputs


def build():
    seed_everything({seed})
    module = timm.create_model({name!r}, pretrained=False)
    head = module.get_classifier()
    if isinstance(head, torch.nn.Linear) and not head.weight.any():
        torch.nn.init.trunc_normal_(head.weight, std=0.02)  # else every output is zero, whatever computes it
    inputs = torch.randn({batch_size}, *{size})
    targets = torch.randint(0, module.num_classes or module.num_features, ({batch_size},))
    {calibrate}
    return module, (inputs,), {{}}, {loss}
"""


@cache
def _data() -> TimmData:
    return data.load(_FILE, TimmData)


def _model(name: str) -> TimmModel:
    """Return a model's entry; one that only timm has is built by its name, with its own input size."""
    models = _data().models
    if name not in models and name.partition(".")[0] in data.timm_models():
        return TimmModel(batch_size=_UNLISTED_BATCH, calibrate_batchnorm=True)
    return data.lookup(models, name, SUITE.name)


@dataclass(frozen=True, kw_only=True)
class Created:
    """A model, and what its weights are."""

    module: Any
    weights: Weights
    notes: list[str]


def create(name: str, weights: Weights, seed: int) -> Created:
    """Return the model; pretrained weights that cannot be had are random ones, with a note."""
    import timm

    from runner.suites import building
    from runner.suites.random_weights import could_not, hub_or_cache

    notes: list[str] = []
    if weights == "pretrained":
        try:
            with hub_or_cache():
                return Created(module=timm.create_model(name, pretrained=True), weights="pretrained", notes=[])
        except Exception as error:  # noqa: BLE001 - a download fails in many ways; a broken model fails again below
            notes.append(could_not(name, error))
            building.seed_everything(seed)
    with warnings.catch_warnings():
        # timm warns about renamed models; the data file lists them on purpose.
        warnings.simplefilter("ignore", UserWarning)
        module = timm.create_model(name, pretrained=False)
    fill_zero_head(module)
    return Created(module=module, weights="random", notes=notes)


def fill_zero_head(module: Any) -> None:
    """Give a classifier that starts at zero random weights: else every output is zero, whatever computes it."""
    import torch

    head = module.get_classifier()
    if isinstance(head, torch.nn.Linear) and not head.weight.is_meta and not head.weight.any():
        torch.nn.init.trunc_normal_(head.weight, std=_HEAD_STD)


SUITE = TimmSuite()
