"""Wrong answers that a dynamo backend plants, each judged as it should be, in eval and train."""

import pytest
from verify_makers import Suite

from runner.backends.host import Eager

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
LONG = pytest.mark.thorough
EVAL = ("eval", pytest.param("train", marks=LONG))
"""Where the output is what is wrong; to compile a backward graph as well takes twice as long."""
TOLERANCE = 1e-4


class Two(torch.nn.Module):
    """Two outputs, two gradients for each."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, values):
        return self.first(values), self.second(values)


class Seeded(Two):
    """The second output has random numbers in it."""

    def forward(self, values):
        first, second = super().forward(values)
        return first, second + torch.rand_like(second)


class Chaotic(Two):
    """The second output is chaos: a rounding more or less makes it another one."""

    def forward(self, values):
        first, second = super().forward(values)
        chaos = torch.sigmoid(second)
        for _ in range(30):
            chaos = 3.99 * chaos * (1 - chaos)
        return first, chaos


class Kinked(Two):
    """Behind the second layer is a ReLU whose inputs are zero but for roundings: its gradient is there by chance."""

    edge = None

    def forward(self, values):
        first, second = super().forward(values)
        if Kinked.edge is None:  # of the first copy, for all of them
            Kinked.edge = second.detach() * (1 - 5e-7)
        return first, second + torch.relu(second - Kinked.edge.to(second))


class Interpreter(torch.fx.Interpreter):
    """Runs a graph, with a plant in the results of its linear layers, or of all of it."""

    def __init__(self, graph, linear=None, outputs=None):
        super().__init__(graph)
        self._linear, self._outputs, self._layers = linear, outputs, 0

    def run(self, *args, **kwargs):
        self._layers = 0
        found = super().run(*args, **kwargs)
        return self._outputs(list(found)) if self._outputs else found

    def run_node(self, node):
        found = super().run_node(node)
        if self._linear is not None and node.target is torch.ops.aten.addmm.default:
            found = self._linear(found, self._layers, *self.fetch_args_kwargs_from_env(node)[0])
            self._layers += 1
        return found


class Planting(Eager):
    """Compiles with dynamo and autograd's graphs; `linear` changes layers, `gradients` what the backward graph returns.

    Both are given what was right; a layer its number, bias, input and weight, too.
    """

    def __init__(self, linear=None, gradients=None):
        self._linear, self._gradients = linear, gradients

    def compile(self, step, config):
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd

        def forward(graph, inputs):
            return make_boxed_func(Interpreter(graph, linear=self._linear).run)

        def backward(graph, inputs):
            return make_boxed_func(Interpreter(graph, outputs=self._gradients).run)

        return torch.compile(step, backend=aot_autograd(fw_compiler=forward, bw_compiler=backward))

    def invalid(self):
        return None


@pytest.fixture
def planted(check):
    """Verify `Two`, or another model, with a plant."""

    def run(test, linear=None, gradients=None, make=Two, size=16, **changes):
        def loss(outputs):
            return sum(output.square().mean() for output in outputs)

        torch._dynamo.reset()
        backend = Planting(linear, gradients)
        return check(suite=Suite(make, size=size, loss=loss), backend=backend, test=test, **changes)

    return run


def changed(tensor, change):
    """Return a changed copy; the graph's own tensor stays."""
    copy = tensor.clone()
    change(copy)
    return copy


@LONG
@pytest.mark.parametrize("test", ["eval", "train"])
def test_nothing_planted(planted, test):
    """The short form is `test_a_right_backend_passes_and_the_control_is_noticed` of test_process.py."""
    found = planted(test)
    assert (found.code, found.control) == ("PASS", "noticed")


@pytest.mark.parametrize("test", EVAL)
def test_right_at_batch_4_and_wrong_at_64(planted, test):
    def plant(right, layer, *_):
        return right + 1 if len(right) > 4 else right

    assert planted(test, plant, batch_size=4).code == "PASS"
    found = planted(test, plant, batch_size=64)
    assert (found.code, found.batch_size) == ("FAIL", 64)


@pytest.mark.parametrize("test", EVAL)
def test_one_wrong_row_of_4096(planted, test):
    def plant(right, layer, *_):
        return changed(right, lambda copy: copy[1234].add_(0.3))

    found = planted(test, plant, size=4096)
    name = "output[0]" if test == "eval" else "prediction[0]"
    assert (found.code, found.first_failed) == ("FAIL", name)
    assert f"{name}: samples 1232 to 1247 (counted from 0) deviate most" in found.notes


@pytest.mark.parametrize("test", EVAL)
def test_wrong_in_one_of_several_outputs(planted, test):
    found = planted(test, lambda right, layer, *_: right * 1.05 if layer == 1 else right)
    assert (found.code, found.first_failed) == ("FAIL", "output[1]" if test == "eval" else "loss")


@LONG
def test_wrong_in_one_gradient(planted):
    """The short form is `test_a_wrong_gradient_fails` of test_process.py."""

    def plant(right):
        return [each * 1.05 if index == 1 and each is not None else each for index, each in enumerate(right)]

    found = planted("train", gradients=plant)
    assert (found.code, found.first_failed.split(".")[0]) == ("FAIL", "grad")
    assert any("times as far from float64 as eager's" in note for note in found.notes)


def beyond(right, off):
    """Return a tensor that is off by so many times the judge's bound, in all elements."""
    return right + off * TOLERANCE * (1 + right.abs())


@LONG
@pytest.mark.parametrize(("off", "code"), [(0.4, "PASS"), (2, "FAIL")])
@pytest.mark.parametrize("test", ["eval", "train"])
def test_twice_the_bound_in_all_elements(planted, test, off, code):
    """The short form is `test_twice_the_bound_in_all_elements_fails` of test_judge.py."""
    if test == "eval":
        found = planted(test, lambda right, *_: beyond(right, off))
    else:
        found = planted(test, gradients=lambda right: [each if each is None else beyond(each, off) for each in right])
    assert found.code == code


@LONG
@pytest.mark.parametrize("test", ["eval", "train"])
def test_wrong_in_the_third_iteration(planted, test):
    """The short form is `test_every_iteration_is_compared` of test_process.py."""
    calls = []

    def plant(right, layer, *_):
        calls.append(layer)
        return right + (calls.count(0) == 3)

    found = planted(test, plant)
    assert (found.code, found.failed_iteration) == ("FAIL", 3)


@pytest.mark.parametrize("test", EVAL)
def test_right_but_summed_in_another_order(planted, test):
    def plant(right, layer, bias, values, weight):
        total = torch.zeros_like(right)
        for index in reversed(range(len(weight))):
            total = total + values[:, index, None] * weight[index]
        return total + bias

    found = planted(test, plant, size=4096)
    assert (found.code, found.max_abs_error > 0) == ("PASS", True)


@pytest.mark.parametrize("test", EVAL)
def test_what_depends_on_the_seed_is_not_judged(planted, test):
    """The other output, or its gradients, still are."""

    def plant(right, layer, *_):
        return right + torch.rand_like(right) if layer == 1 else right

    found = planted(test, plant, make=Seeded)
    assert (found.code, found.decided_by) == ("VERIFIER_SKIPPED", "unjudged")
    name = "output[1]" if test == "eval" else "loss"
    assert f"{name}: it changes with the seed of the random numbers" in found.unjudged
    share = f"{found.judged} of {found.tensors} tensors were judged and are right"
    assert any(note.endswith(f"{name} could not be judged: {share}") for note in found.notes)
    wrong = planted(test, lambda right, layer, *_: right * 1.05 if layer == 0 else right + 1, make=Seeded)
    assert wrong.code == "FAIL"


@pytest.mark.parametrize("test", EVAL)
def test_what_eager_computes_as_noise_is_not_judged(planted, test):
    found = planted(test, lambda right, *_: right * (1 + 1e-7), make=Chaotic)
    assert found.code != "FAIL"
    name = "output[1]" if test == "eval" else "grad.second.weight"
    assert f"{name}: eager itself is as far from float64 as a wrong answer would be" in found.unjudged
    if test == "eval":
        assert found.code == "VERIFIER_SKIPPED"
        assert (
            planted(test, lambda right, layer, *_: right * 1.05 if layer == 0 else right, make=Chaotic).code == "FAIL"
        )


def test_a_gradient_that_a_rounding_turns_over_is_not_judged(planted):
    """The layer is off by a millionth, as another order of additions makes it, and the gradient by its own size."""
    Kinked.edge = None
    found = planted("train", lambda right, layer, *_: right * (1 - 1e-6) if layer == 1 else right, make=Kinked)
    assert found.code == "PASS"
    assert {each.partition(":")[0] for each in found.unjudged} >= {"grad.second.weight"}
    assert any("rounded differently" in each for each in found.unjudged)


def test_a_gradient_further_off_than_roundings_turn_it_is_wrong(planted):
    Kinked.edge = None

    def plant(gradients):
        return [None if each is None else 10 * each for each in gradients]

    assert planted("train", gradients=plant, make=Kinked).code == "FAIL"
