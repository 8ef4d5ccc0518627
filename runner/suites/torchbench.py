"""Suite `torchbench`: the models of a checkout of github.com/pytorch/benchmark."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from runner.suites import data, torchbench_checkout
from runner.suites.base import BuildRequest, ModelInfo, SuiteContext, Workload
from runner.suites.errors import SuiteUnavailableError, UnknownModelError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.record import Test

_FILE = "torchbench.yaml"


class TorchbenchData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`torchbench.yaml`, whose comments explain the fields."""

    batch_size: dict[str, dict[str, int]]
    fixed_batch_size: tuple[str, ...]
    skip: dict[str, str]
    skip_train: dict[str, str]
    unsupported: dict[str, dict[str, str]]


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
        return [ModelInfo(name=name, skips=_skips(name)) for name in names]

    def versions(self, context: SuiteContext) -> Mapping[str, str]:
        """Return the checkout's commit as `torchbench_commit`, where it is known."""
        checkout = torchbench_checkout.find(context.torchbench_dir)
        commit = torchbench_checkout.commit(checkout) if checkout else None
        return {"torchbench_commit": commit} if commit else {}

    def build(self, request: BuildRequest) -> Workload:
        """Build one model through its `Model` class and `get_module()`, as the TorchDynamo harness does."""
        checkout = torchbench_checkout.find(request.context.torchbench_dir)
        if checkout is None:
            raise SuiteUnavailableError(torchbench_checkout.advice(request.context.torchbench_dir))
        _refuse_unsupported(request, torchbench_checkout.model_names(checkout))

        from runner.suites import losses, torchbench_build

        facts = _data()
        loss, loss_name = losses.choose(request.loss, {"sum": losses.sum_of_outputs}, suite=self.name)
        built = torchbench_build.build(
            checkout,
            request,
            fixed_batch_size=request.model_name in facts.fixed_batch_size,
            default_batch_size=facts.batch_size[request.test].get(request.model_name),
        )
        return Workload(
            module=built.module,
            args=built.args,
            kwargs=built.kwargs,
            batch_size=built.batch_size,
            loss=loss,
            loss_name=loss_name,
        )


@cache
def _data() -> TorchbenchData:
    return data.load(_FILE, TorchbenchData)


def _skips(name: str) -> dict[Test, str]:
    facts = _data()
    if name in facts.skip:
        return {"eval": facts.skip[name], "train": facts.skip[name]}
    return {"train": facts.skip_train[name]} if name in facts.skip_train else {}


def _refuse_unsupported(request: BuildRequest, names: list[str]) -> None:
    name = request.model_name
    if name not in names:
        raise UnknownModelError(
            f"The torchbench checkout has no model {name!r}; list its torchbenchmark/models folder."
        )
    reason = _data().unsupported.get(request.accelerator, {}).get(name)
    if reason:
        raise UnsupportedModelError(
            f"torchbench {name} on {request.accelerator}: {reason}; choose another accelerator."
        )


SUITE = TorchbenchSuite()
