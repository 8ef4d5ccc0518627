"""Suite `dummy`: two models that build in milliseconds, for trying the tool and for its tests."""

from __future__ import annotations

from collections.abc import Sequence

from runner.suites import data
from runner.suites.base import BuildRequest, ModelInfo, ModelSource, Suite, SuiteContext
from runner.workload import Workload

_BATCH_SIZE = 16
_MODELS = {"dummy": "mlp", "dummy_nonzero": "NonzeroMlp"}


class DummySuite(Suite):
    """`dummy` is the peer's MLP; `dummy_nonzero` holds one op that XLA runs on the CPU (`aten::nonzero`)."""

    name: str = "dummy"
    preload: Sequence[str] = ("torch",)

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        return [ModelInfo(name=name) for name in _MODELS]

    def build(self, request: BuildRequest) -> Workload:
        """Build one model; its input is `torch.rand`, as the peer's is."""
        import torch

        from runner.suites import building, dummy_modules

        maker = getattr(dummy_modules, data.lookup(_MODELS, request.model_name, self.name))
        batch_size = request.batch_size or _BATCH_SIZE
        building.seed_everything(request.seed)
        module = maker(batch_size)
        inputs = torch.rand(batch_size, dummy_modules.FEATURES)
        offered = {"mean_square": building.mean_square, "sum": building.sum_of_outputs}
        loss, loss_name = building.choose_loss(request.loss, offered, suite=self.name)
        return Workload(
            module=module.train(request.test == "train"),
            args=(inputs,),
            batch_size=batch_size,
            loss=loss,
            loss_name=loss_name,
            notes=["suite dummy has no pretrained weights: they are random"] if request.weights != "random" else [],
        )

    def source(self, request: BuildRequest) -> ModelSource:
        maker = data.lookup(_MODELS, request.model_name, self.name)
        batch_size = request.batch_size or _BATCH_SIZE
        loss = {None: "mean_square", "mean_square": "mean_square", "sum": "sum_of_outputs"}[request.loss]
        return ModelSource(text=_SOURCE.format(maker=maker, batch_size=batch_size, seed=request.seed, loss=loss))


_SOURCE = """
import torch

from runner.suites.dummy_modules import FEATURES, {maker}
from runner.suites.building import {loss}, seed_everything


def build():
    seed_everything({seed})
    module = {maker}({batch_size})
    return module, (torch.rand({batch_size}, FEATURES),), {{}}, {loss}
"""


SUITE = DummySuite()
