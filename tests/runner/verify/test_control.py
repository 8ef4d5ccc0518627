"""The negative control disturbs weights, the same ones each time."""

import pytest

from runner.verify.copies import disturb
from runner.workload import Workload

torch = pytest.importorskip("torch")


def workload(module, inputs):
    return Workload(module=module, args=(inputs,), batch_size=1, loss=None, loss_name="sum")


def test_weights_change_by_about_half_their_size():
    of = workload(torch.nn.Linear(100, 100), torch.ones(1, 100))
    before = of.module.weight.detach().clone()
    assert disturb(of, 7) == "weights and inputs"
    change = (of.module.weight.detach() - before).square().mean().sqrt() / before.square().mean().sqrt()
    assert float(change) == pytest.approx(0.5, abs=0.02)
    assert float((of.args[0] - 1).square().mean().sqrt()) == pytest.approx(0.5, abs=0.1)


def test_the_same_seed_disturbs_alike():
    first, second = (workload(torch.nn.Linear(4, 4), torch.ones(1, 4)) for _ in range(2))
    second.module.load_state_dict(first.module.state_dict())
    disturb(first, 3)
    disturb(second, 3)
    assert torch.equal(first.module.weight, second.module.weight)


def test_zeros_are_disturbed_too():
    of = workload(torch.nn.BatchNorm1d(4), torch.ones(2, 4))
    torch.nn.init.zeros_(of.module.weight)
    disturb(of, 1)
    assert of.module.weight.count_nonzero() == 4


def test_without_weights_the_inputs_are_disturbed():
    of = workload(torch.nn.ReLU(), torch.ones(1, 4))
    assert disturb(of, 1) == "inputs"
    assert (of.args[0] != 1).all()


def test_with_neither_there_is_nothing_to_disturb():
    assert disturb(workload(torch.nn.ReLU(), torch.ones(1, dtype=torch.int64)), 1) is None
