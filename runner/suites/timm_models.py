"""Suite `timm_models`: image classifiers from the PyPI package timm, with random weights."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from runner.suites import data
from runner.suites.base import BuildRequest, ModelInfo, SuiteContext, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FILE = "timm_models.yaml"


class TimmModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `timm_models.yaml`, whose header explains the fields."""

    batch_size: dict[str, data.BatchSize]
    input_size: dict[str, tuple[int, int, int]] = {}
    calibrate_batchnorm: bool = False
    skips: dict[str, str] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: dict[str, TimmModel]


class TimmSuite:
    """Weights are random, so nothing is downloaded; shapes and arithmetic are those of the published models."""

    name: str = "timm_models"
    preload: Sequence[str] = ("torch", "torchvision", "timm")

    def unavailable(self, context: SuiteContext) -> str | None:  # noqa: ARG002 - part of the protocol
        """Say that timm is missing, or return None."""
        if importlib.util.find_spec("timm") is None:
            return "Suite timm_models needs the package timm: pip install 'xlabench[runner]'."
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:  # noqa: ARG002 - part of the protocol
        """List the models of the data file in its order."""
        return [ModelInfo(name=name, skips=data.skips(model.skips)) for name, model in _models().items()]

    def versions(self, context: SuiteContext) -> Mapping[str, str]:  # noqa: ARG002 - part of the protocol
        """Return nothing: the version of timm identifies the models."""
        return {}

    def build(self, request: BuildRequest) -> Workload:
        """Build one model with a standard normal input, as its default configuration shapes it."""
        import timm
        import torch

        from runner.suites import losses
        from runner.suites.batchnorm import calibrate
        from runner.suites.seeding import seed_everything

        model = data.lookup(_models(), request.model_name, self.name)
        batch_size = data.batch_size(request.batch_size, model.batch_size, request.accelerator, request.test)
        seed_everything(request.seed)
        module = timm.create_model(request.model_name, pretrained=False)
        inputs = torch.randn(batch_size, *_input_size(model, module, request.accelerator))
        # Pure feature extractors (num_classes 0) return their features, which then stand for the classes.
        targets = torch.randint(0, module.num_classes or module.num_features, (batch_size,))
        if model.calibrate_batchnorm:
            calibrate(module, inputs)
        offered: dict[str, Callable[[Any], Any]] = {
            "cross_entropy": losses.CrossEntropy(targets),
            "sum": losses.sum_of_outputs,
        }
        loss, loss_name = losses.choose(request.loss, offered, suite=self.name)
        return Workload(
            module=module.train(request.test == "train"),
            args=(inputs,),
            kwargs={},
            batch_size=batch_size,
            loss=loss,
            loss_name=loss_name,
        )


@cache
def _models() -> dict[str, TimmModel]:
    return data.load(_FILE, _File).models


def _input_size(model: TimmModel, module: Any, accelerator: str) -> tuple[int, int, int]:
    if model.input_size:
        return data.for_accelerator(model.input_size, accelerator)
    channels, height, width = module.default_cfg["input_size"]
    return channels, height, width


SUITE = TimmSuite()
