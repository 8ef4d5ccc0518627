"""A suite of small models that bear names of PyTorch/XLA's tiers; loaded through `XLABENCH_SUITES`."""

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

TIERS = {"GPT_3": 1, "alexnet": 2, "drq": 3, "in_no_tier": None}
FEATURES = 4


class TieredSuite(PlainSuite):
    name = "tiered"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name) for name in TIERS]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        return Workload(
            module=torch.nn.Linear(FEATURES, FEATURES),
            args=(torch.rand(2, FEATURES),),
            batch_size=2,
            loss=lambda output: output.mean(),
            loss_name="mean",
        )


SUITE = TieredSuite()
