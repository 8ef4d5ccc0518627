"""One call of an operator: what is cut, waited for, kept and timed."""

from types import SimpleNamespace

import pytest

from runner.suites.operators.build import CallStep, as_module
from runner.workload import Workload

torch = pytest.importorskip("torch")


class Runtime:
    """Writes down what it is asked for."""

    device = torch.device("cpu")

    def __init__(self):
        self.events = []

    def after_iteration(self):
        self.events.append("cut")

    def after_block(self):
        self.events.append("wait")


@pytest.fixture
def step():
    """Make the step of a call, and the runtime that it cuts on."""

    def make(call, args, test, compiled=lambda function: function, **how):
        workload = Workload(module=as_module(call), args=args, batch_size=None, loss=torch.sum, loss_name="sum")
        runtime = Runtime()
        return CallStep(workload, test, runtime, compiled, **how), runtime

    return make


def test_a_forward_is_cut_once(step):
    made, runtime = step(torch.neg, (torch.ones(2),), "eval")
    output = made((torch.ones(2),), {})
    assert output.tolist() == [-1.0, -1.0]
    assert runtime.events == ["cut"]
    assert made.take_seconds() == {}


def test_a_discrete_forward_is_waited_for_and_timed_alone(step):
    made, runtime = step(torch.neg, (torch.ones(2),), "eval", discrete=True)
    made((torch.ones(2),), {})
    assert runtime.events == ["cut", "wait"]
    assert made.take_seconds()["forward"] > 0


def test_calls_that_are_timed_alone_give_their_median(step, monkeypatch):
    """One that something interrupted among the many of a block is not their time."""
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 920.0])
    made, _ = step(torch.neg, (torch.ones(2),), "eval", discrete=True)
    monkeypatch.setattr("runner.suites.operators.build.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    for _ in range(3):
        made((torch.ones(2),), {})
    assert made.take_seconds() == {"forward": 2.0}
    assert made.take_seconds() == {"forward": 0.0}


class Timer:
    """A device's own clock: each span takes a quarter of a second, and is read when the device has finished."""

    def __init__(self):
        self.spans = []

    def begin(self):
        self.spans.append("begun")

    def end(self):
        self.spans[-1] = "ended"

    def seconds(self):
        assert self.spans == ["ended"]
        self.spans = []
        return 0.25


@pytest.mark.parametrize(
    ("test", "how"), [("train", {}), ("eval", {"discrete": True}), ("eval", {"clear_cache": True})]
)
def test_calls_that_are_timed_alone_are_timed_by_the_devices_events_too(step, monkeypatch, test, how):
    """With `continuous_events`, as blocks of calls are; neither launch and wait nor the clearing of a cache counts."""
    monkeypatch.setattr("runner.suites.operators.build._clear_l2_cache", lambda runtime: None)
    one = torch.tensor([2.0], requires_grad=test == "train")
    made, _ = step(torch.neg, (one,), test, timer=Timer(), **how)
    made((one,), {})
    assert set(made.take_seconds().values()) == {0.25}


def test_forward_and_backward_are_cut_and_waited_for_apart(step):
    one, two = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0])
    made, runtime = step(torch.mul, (one, two), "train")
    made((one, two), {})
    runtime.events.clear()
    output, gradients = made((one, two), {})
    assert runtime.events == ["cut", "wait", "cut", "wait"]
    assert (output.item(), [each.item() for each in gradients]) == (6.0, [3.0])
    assert one.grad is None  # nothing adds up over iterations
    seconds = made.take_seconds()
    assert set(seconds) == {"forward", "backward"}
    assert min(seconds.values()) > 0
    assert made.take_seconds() == {"forward": 0.0, "backward": 0.0}


def test_parameters_of_a_module_have_gradients_too(step):
    made, _ = step(torch.nn.Linear(2, 1), (torch.ones(1, 2),), "train")
    _, gradients = made((torch.ones(1, 2),), {})
    assert [tuple(each.shape) for each in gradients] == [(1, 2), (1,)]


def test_what_a_call_is_given_has_its_bytes_with_the_parameters(step):
    given = (torch.ones(2, 3, dtype=torch.bfloat16), [torch.ones(4, dtype=torch.int64)])
    made, _ = step(torch.nn.BatchNorm1d(3), given, "eval")
    of_the_module = 4 * (3 + 3 + 3 + 3) + 8
    assert made.input_bytes == 2 * 3 * 2 + 4 * 8 + of_the_module


def test_an_empty_call_cuts_and_waits_as_often(step):
    one = torch.tensor([2.0], requires_grad=True)
    for test in ("eval", "train"):
        made, runtime = step(torch.neg, (one,), test)
        made((one,), {})
        runtime.events.clear()
        made((one,), {})
        full, runtime.events = runtime.events, []
        made.empty()
        assert runtime.events == full


def test_an_uncut_call_returns_the_same(step):
    one = torch.tensor([2.0], requires_grad=True)
    made, runtime = step(torch.exp, (one,), "train")
    output, (gradient,) = made((one,), {})
    runtime.events.clear()
    again, (same,) = made.uncut((one,), {})
    assert (again.item(), same.item()) == (output.item(), gradient.item())
    assert runtime.events == []


def test_the_backend_compiles_the_forward(step):
    compiled = []

    def compile_it(function):
        compiled.append(function)
        return function

    step(torch.neg, (torch.ones(2),), "eval", compile_it)
    assert len(compiled) == 1


def test_a_device_in_the_arguments_is_the_one_that_is_measured_on(step):
    workload = Workload(
        module=as_module(torch.zeros), args=(2,), kwargs={"device": torch.device("cuda")}, batch_size=None,
        loss=torch.sum, loss_name="sum",
    )  # fmt: skip
    CallStep(workload, "eval", Runtime(), lambda function: function)
    assert workload.kwargs == {"device": torch.device("cpu")}


def test_an_output_without_a_gradient_has_no_backward(step):
    one = torch.tensor([2.0], requires_grad=True)
    made, _ = step(torch.argmax, (one,), "train")
    with pytest.raises(RuntimeError, match="there is no backward; measure --test eval"):
        made((one,), {})
