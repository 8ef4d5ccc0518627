"""Weights, buffers and inputs that a backend changes and eager does not, and the other way round."""

import pytest
from verify_makers import Suite

from runner.backends.host import Eager
from tests.tiers import first_of

torch = pytest.importorskip("torch")


class Scaled(torch.nn.Module):
    """A layer with a frozen weight and a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.frozen = torch.nn.Parameter(torch.rand(4), requires_grad=False)
        self.register_buffer("offset", torch.rand(4))

    def forward(self, values):
        return self.layer(values) * self.frozen + self.offset


class Averaging(Scaled):
    """The frozen weight follows the layer's, as the teacher of a student does."""

    def forward(self, values):
        output = super().forward(values)
        self.frozen.data = self.frozen.data * 0.5 + self.layer.weight.data[0] * 0.5
        return output


class Writing(Eager):
    """Eager, and after each step a write that no tensor's version shows, as compiled code makes it."""

    def __init__(self, suite, write):
        self.suite, self.write = suite, write

    def compile(self, step, config):
        def run(args, kwargs):
            output = step(args, kwargs)
            self.write(self.suite.modules[-1], args)
            return output

        return run


def silently(tensor, change):
    """Write through the memory of a tensor."""
    change(tensor.detach().numpy())


def add(values):
    values += 1


@pytest.mark.parametrize("iterations", first_of([1, 2]))
@pytest.mark.parametrize(
    ("test", "name", "chosen"),
    [
        ("eval", "param.layer.weight", lambda module, args: module.layer.weight),
        ("eval", "param.frozen", lambda module, args: module.frozen),
        ("eval", "buffer.offset", lambda module, args: module.offset),
        ("eval", "input[0]", lambda module, args: args[0]),
        ("train", "param.frozen", lambda module, args: module.frozen),
        ("train", "input[0]", lambda module, args: args[0]),
    ],
)
def test_what_only_the_backend_changes_is_wrong(check, test, name, chosen, iterations):
    suite = Suite(Scaled)
    backend = Writing(suite, lambda module, args: silently(chosen(module, args), add))
    found = check(suite=suite, backend=backend, test=test, verify_iterations=iterations)
    assert found.code == "FAIL"
    if iterations == 1 or name == "input[0]":
        assert (found.first_failed, found.decided_by) == (name, "structure")
        assert f"{name}: the backend changes it, eager does not" in found.notes


@pytest.mark.parametrize("test", ["eval", "train"])
def test_what_eager_changes_without_a_trace_is_compared(check, test):
    assert check(suite=Suite(Averaging), test=test, verify_iterations=1).code == "PASS"
    suite = Suite(Averaging)
    undo = Writing(suite, lambda module, args: silently(module.frozen, lambda values: values.fill(0.5)))
    found = check(suite=suite, backend=undo, test=test, verify_iterations=1)
    assert (found.code, found.first_failed) == ("FAIL", "param.frozen")


class Late(Scaled):
    """It writes into its input from the second call on."""

    calls = 0

    def forward(self, values):
        output = super().forward(values.clone())
        self.calls += 1
        if self.calls > 1:
            values.add_(1)
        return output


def test_what_both_change_later_than_at_first_passes(check):
    assert check(suite=Suite(Late)).code == "PASS"


@pytest.mark.parametrize("test", ["eval", "train"])
def test_what_nobody_changes_passes(check, test):
    found = check(suite=Suite(Scaled), test=test)
    assert (found.code, found.control) == ("PASS", "noticed")
    assert not any("param" in note for note in found.notes)


class LeavingOut(Eager):
    """Eager, and what each step but the first ones does to the weights is undone."""

    def __init__(self, suite, right):
        self.suite, self.right = suite, right

    def compile(self, step, config):
        def run(args, kwargs):
            weights = list(self.suite.modules[-1].parameters())
            before = [weight.detach().clone() for weight in weights]
            output = step(args, kwargs)
            self.right -= 1
            for weight, value in zip(weights, before, strict=True) if self.right < 0 else ():
                weight.detach().copy_(value)
            return output

        return run


@pytest.mark.parametrize("right", [0, 1])
def test_a_step_of_the_optimizer_that_is_left_out_is_wrong_however_little_it_changes(check, right):
    """Less than the tolerance of the suite, and than 5 % of the weights."""
    suite = Suite(Scaled)
    how = {"test": "train", "optimizer": "SGD", "suite_name": "timm_models", "verify_iterations": 1 + right}
    assert check(suite=suite, backend=Eager(), **how).code == "PASS"
    found = check(suite=suite, backend=LeavingOut(suite, right), **how)
    assert (found.code, found.first_failed) == ("FAIL", "param.layer.weight")
