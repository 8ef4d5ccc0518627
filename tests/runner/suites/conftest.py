"""Helpers of the suite tests."""

import socket

import pytest

from runner.suites import torchbench
from runner.suites.base import BuildRequest


@pytest.fixture(scope="session")
def real_checkout():
    """The torchbench checkout that `TORCHBENCH_DIR` names or that lies beside the working folder."""
    checkout = torchbench.find(None)
    if checkout is None:
        pytest.skip(torchbench.advice(None))
    return checkout


@pytest.fixture
def request_for():
    """Make a build request with the defaults of a CPU run."""

    def make(model, test="eval", **changes):
        fields = {"model_name": model, "test": test, "accelerator": "cpu", "batch_size": None, "seed": 1337}
        return BuildRequest(**(fields | changes))

    return make


@pytest.fixture
def no_network(monkeypatch):
    """Refuse every connection."""

    def refuse(*_, **__):
        raise AssertionError("a build opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def same_tensors():
    """Tell whether two nested values hold equal tensors."""
    torch = pytest.importorskip("torch")

    def same(first, second):
        firsts, seconds = (torch.utils._pytree.tree_leaves(value) for value in (first, second))
        return len(firsts) == len(seconds) and all(map(torch.equal, firsts, seconds))

    return same


@pytest.fixture
def step():
    """Run one iteration and return its scalar: the loss in train, the sum of all outputs in eval."""
    torch = pytest.importorskip("torch")
    from runner.suites.building import sum_of_outputs

    def run(workload, test):
        with torch.set_grad_enabled(test == "train"):
            output = workload.module(*workload.args, **workload.kwargs)
            scalar = workload.loss(output) if test == "train" else sum_of_outputs(output)
        if test == "train":
            scalar.backward()
        return scalar.detach()

    return run
