"""A suite of models that answer wrongly, each in one way; loaded through `XLABENCH_SUITES`."""

import os
import signal
import time

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

NAMES = (
    "right",
    "wrong_on_xla",
    "wrong_where_small",
    "wrong_when_compiled",
    "wrong_gradient_on_xla",
    "random_eager",
    "eager_raises",
    "xla_raises",
    "constant",
    "wrong_later",
    "disguised",
    "hangs",
    "dies_on_xla",
    "dies_on_other_inputs",
    "normalised",
    "dropped",
    "copied",
)


def _forward(name: str, module, values):
    import torch

    result, on_xla = module.norm(module.linear(values)), values.device.type == "xla"
    if name == "wrong_on_xla":
        return {"first": result, "second": result + 1 if on_xla else result}
    if name == "wrong_where_small":
        return result * (2e-9 if on_xla else 1e-9)
    if name == "wrong_when_compiled":
        return result + 1 if torch.compiler.is_compiling() else result
    if name == "random_eager":
        return result + int.from_bytes(os.urandom(2), "big")
    if name == "eager_raises" or (name == "xla_raises" and on_xla):
        raise ValueError("this step always fails")
    if name == "constant":
        result = torch.linspace(1, 2, 8, device=values.device) + 0 * result
    if name == "wrong_later":
        module.calls += 1
        result = result + (1 if on_xla and module.calls > 6 else 0)
    if name == "hangs":
        time.sleep(1000)
    if name == "dies_on_xla" and on_xla:
        os.kill(os.getpid(), signal.SIGSEGV)
    return result


def _die_of_other_inputs(module, values) -> None:
    import torch

    if not torch.equal(values, module.seen.setdefault("first", values)):
        os.kill(os.getpid(), signal.SIGSEGV)


def _after_linear(name: str):
    """Return the layer that follows; dynamo makes a copy of dropout with a probability of 0."""
    import torch

    if name in ("dropped", "copied"):
        return torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(0.5 if name == "dropped" else 0.0))
    return torch.nn.BatchNorm1d(8) if name == "normalised" else torch.nn.Identity()


def _module(name: str):
    import torch

    class Double(torch.autograd.Function):
        """Right forward; on XLA the gradient is twice what it should be."""

        @staticmethod
        def forward(ctx, values):
            return values * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient * (2 if gradient.device.type == "xla" else 1)

    class Faulty(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)
            self.calls, self.seen = 0, {}
            self.norm = _after_linear(name)

        def forward(self, values):
            if name == "dies_on_other_inputs":
                _die_of_other_inputs(self, values)
            result = _forward(name, self, values)
            return Double.apply(result) if name == "wrong_gradient_on_xla" else result

    module = Faulty()
    if name == "disguised":
        module.forward = torch.compiler.disable(module.forward)
    return module


class VerificationSuite(PlainSuite):
    name = "wrong"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name) for name in NAMES]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        torch.manual_seed(request.seed)
        return Workload(
            module=_module(request.model_name),
            args=(torch.rand(4, 8),),
            batch_size=4,
            loss=lambda output: output.square().mean(),
            loss_name="mean_square",
        )


SUITE = VerificationSuite()
