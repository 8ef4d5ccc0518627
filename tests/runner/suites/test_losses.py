"""Losses reduce every kind of output as their definitions say."""

import pytest

from runner.suites.base import UnknownLossError

torch = pytest.importorskip("torch")

from runner.suites import building  # noqa: E402


class MaskedLMOutput(dict):
    """Named as the class whose logits alone count."""

    @property
    def logits(self):
        return self["logits"]


class SquashedNormal:
    mean = torch.tensor([1.0, 2.0])


_NESTED = [torch.ones(2), (torch.zeros(3), torch.full((2,), 4.0))]


@pytest.mark.parametrize(
    "output",
    [
        torch.arange(6.0).reshape(2, 3),
        torch.arange(4),
        _NESTED,
        {"a": torch.ones(2), "b": torch.zeros(1)},
        MaskedLMOutput(logits=torch.ones(2), hidden=torch.zeros(5)),
        SquashedNormal(),
    ],
    ids=["tensor", "integers", "nested", "dict", "named output", "distribution"],
)
def test_sum_equals_the_harness(output):
    from torch._dynamo.testing import reduce_to_scalar_loss

    assert torch.equal(building.sum_of_outputs(output), torch.as_tensor(reduce_to_scalar_loss(output)))


def test_sum_refuses_what_it_cannot_reduce():
    with pytest.raises(UnknownLossError, match="type str"):
        building.sum_of_outputs("text")


def test_mean_square_has_a_gradient_behind_a_softmax():
    logits = torch.randn(4, 8, requires_grad=True)
    building.mean_square(torch.softmax(logits, dim=1)).backward()
    assert logits.grad.abs().max() > 1e-4


def test_cross_entropy_takes_logits_or_a_tuple_that_starts_with_them():
    loss = building.CrossEntropy(torch.tensor([0, 1]))
    logits = torch.eye(2)
    assert torch.equal(loss(logits), loss((logits, None)))
    assert loss(logits) < loss(-logits)
