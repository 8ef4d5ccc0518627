"""TorchScript as a backend: real modules, traced; the same answers, gradients and structures as eager's."""

from typing import Any

import pytest
from runner_makers import config

from runner.backends import backend_of, steps
from runner.workload import Workload
from store.record import Operator
from tests.tiers import first_of

torch = pytest.importorskip("torch")
pytree = pytest.importorskip("torch.utils._pytree")


class Model(torch.nn.Module):
    """Takes a flag and a keyword, returns a dictionary with something that is no tensor; has buffers and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.calls = 0

    def forward(self, values: Any, *, scale: Any, twice: bool) -> dict[str, Any]:
        self.calls += 1
        found = self.norm(self.linear(values)) * scale
        return {"kind": "a word", "logits": found * 2 if twice else found, "nested": (found + 1,)}


ANSWERED = [
    *(("torchscript", test, dtype) for test in ("eval", "train") for dtype in ("float32", "amp")),
    *(("ts", test, dtype) for test in ("train", "eval") for dtype in ("float32", "amp")),
]
"""Dynamo's `ts` is the same compiler behind dynamo's capture."""


def workload() -> Workload:
    torch.manual_seed(3)
    kwargs = {"scale": torch.full((1,), 1.5), "twice": True}
    return Workload(
        module=Model(),
        args=(torch.randn(4, 8),),
        kwargs=kwargs,
        batch_size=4,
        loss=lambda prediction: prediction["logits"].sin().sum() + prediction["nested"][0].sum(),
        loss_name="sum",
    )


def outcome(name: str | None, test: str, dtype: str = "float32") -> tuple[Any, Any, Model]:
    """Run three iterations; return the last output, the gradients, the module."""
    asked = config(dynamo=name, xla=None, test=test, dtype=dtype, collect_full_output=True)
    work = workload()
    step = backend_of(None, name).compile(steps.make_step(work, asked, torch.device("cpu")), asked)
    with torch.set_grad_enabled(test == "train"):
        for _ in range(3):
            output = step(work.args, work.kwargs)
    return output, {key: weight.grad for key, weight in work.module.named_parameters()}, work.module


@pytest.mark.parametrize(("name", "test", "dtype"), first_of(ANSWERED, 5))
def test_it_answers_as_eager_does(name: str, test: str, dtype: str) -> None:
    """Structure, values, gradients and the statistics of BatchNorm, which tracing must not count once more."""
    expected, gradients, plain = outcome(None, test, dtype)
    found, found_gradients, traced = outcome(name, test, dtype)
    structures = [pytree.tree_flatten(each) for each in (found, expected)]
    assert structures[0][1] == structures[1][1]
    for mine, eager in zip(*(leaves for leaves, _ in structures), strict=True):
        assert mine == eager if isinstance(eager, str) else torch.allclose(mine, eager, rtol=2e-2, atol=1e-2)
    torch.testing.assert_close(found_gradients, gradients, rtol=2e-2, atol=1e-2)
    torch.testing.assert_close(traced.norm.running_mean, plain.norm.running_mean, rtol=2e-2, atol=1e-3)


def test_the_module_itself_runs_once() -> None:
    """From then on it is TorchScript's graph."""
    _, _, module = outcome("torchscript", "eval")
    assert module.calls == 1


def test_single_operators_are_for_dynamo() -> None:
    operator = Operator(name="torch.mm", input={})
    refused = backend_of(None, "torchscript").refuses(config(dynamo="torchscript", operator=operator))
    assert refused == "torchscript traces modules only; use --dynamo ts for operators"
    assert backend_of(None, "torchscript").refuses(config(dynamo="torchscript")) is None
    assert "remove --dynamic-shapes" in backend_of(None, "ts").refuses(config(dynamo="ts", dynamic_shapes=True))
