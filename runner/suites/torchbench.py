"""Suite `torchbench`: the models of a checkout of github.com/pytorch/benchmark."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from runner.suites import data, torchbench_checkout
from runner.suites.data import Tables, checked
from runner.suites.errors import SuiteUnavailableError, UnknownModelError
from runner.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.suites.base import BuildRequest, ModelInfo, SuiteContext

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

        from runner.suites import building, torchbench_build

        facts = _data()
        loss, loss_name = building.choose_loss(request.loss, {"sum": building.sum_of_outputs}, suite=self.name)
        default = facts.batch_size[request.test].get(request.model_name)
        built = torchbench_build.build(
            checkout,
            request,
            fixed_batch_size=request.model_name in facts.fixed_batch_size,
            default_batch_size=default.size if default else None,
        )
        return Workload(
            module=built.module,
            args=built.args,
            kwargs=built.kwargs,
            batch_size=built.batch_size,
            loss=loss,
            loss_name=loss_name,
            weights=built.weights,
            notes=built.notes,
        )


@cache
def _data() -> TorchbenchData:
    found = data.load(_FILE, TorchbenchData)
    checked(found, _FILE)
    return found


SUITE = TorchbenchSuite()
