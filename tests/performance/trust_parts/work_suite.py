"""A suite of one model whose work is a parameter: a package of its environment says how many products it takes."""

from collections.abc import Sequence

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

WIDTH = 128
BATCH_SIZE = 256


class WorkSuite(PlainSuite):
    """`products` multiplies by one matrix as often as `work_amount.STEPS` of the environment says."""

    name: str = "work"
    preload: Sequence[str] = ("torch",)

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        return [ModelInfo(name="products")]

    def build(self, request: BuildRequest) -> Workload:
        import torch
        import work_amount

        from runner.suites import building

        class Products(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                # Orthogonal, so that no number of products overflows.
                self.matrix = torch.nn.Parameter(torch.linalg.qr(torch.randn(WIDTH, WIDTH))[0])

            def forward(self, values: torch.Tensor) -> torch.Tensor:
                for _ in range(work_amount.STEPS):
                    values = values @ self.matrix
                return values

        torch.manual_seed(request.seed)
        loss, loss_name = building.choose_loss(request.loss, {"sum": building.sum_of_outputs}, suite=self.name)
        return Workload(
            module=Products().eval(),
            args=(torch.rand(BATCH_SIZE, WIDTH),),
            batch_size=BATCH_SIZE,
            loss=loss,
            loss_name=loss_name,
        )


SUITE = WorkSuite()
