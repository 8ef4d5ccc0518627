"""The timed process leaves its own results, and they are judged like those of the verification."""

import math

import pytest
from runner_makers import config, settings
from verify_makers import Suite

from runner.backends.host import Eager
from runner.messages import Load
from runner.process import timed_results, timed_step
from runner.process.measure import ExperimentMeasurement
from runner.process.timed_results import results_of, save
from runner.verify.preparation import others
from runner.verify.process import verify
from store.record import Operator

torch = pytest.importorskip("torch")


def make():
    return torch.nn.Linear(4, 4)


@pytest.fixture
def left(tmp_path):
    """Leave what an iteration of the suite's model gives, changed; return the file."""

    def run(change=lambda output: output, test="eval", *, wrong_gradient=False, ignoring=False, make=make):
        workload = Suite(make).build(Request())
        module, values = workload.module, workload.args[0]

        def results(inputs):
            module.zero_grad()
            output = change(module(inputs)) if test == "eval" else workload.loss(module(inputs))
            if test == "train":
                output.backward()
            of = results_of(output if test == "eval" else change(output), config("inductor", test=test), module)
            return of | ({"grad.weight": torch.zeros(4, 4)} if wrong_gradient else {})

        path = tmp_path / "results.pt"
        save(str(path), results(values), results(values if ignoring else others(values, 4)))
        return str(path)

    return run


class Request:
    seed, batch_size = 1337, None


@pytest.mark.parametrize("test", ["eval", "train"])
def test_right_results_agree(check, left, test):
    found = check(make, timed=left(test=test), test=test)
    assert (found.code, found.timed_results) == ("PASS", "agree")


@pytest.mark.parametrize(("test", "name"), [("eval", "output"), ("train", "loss")])
def test_wrong_results_fail_though_the_verification_itself_is_right(check, left, test, name):
    found = check(make, timed=left(lambda result: result * 1.05, test), test=test)
    assert (found.code, found.timed_results, found.first_failed) == ("FAIL", "differ", f"timed process: {name}")
    assert any("the timed process itself gave another" in note for note in found.notes)


@pytest.mark.parametrize("precision", ["highest", "high"])
@pytest.mark.parametrize(
    ("change", "check_of_it"), [(lambda output: output[:2], "shape"), (lambda output: [output], "structure")]
)
def test_results_of_another_shape_or_structure_are_wrong(check, left, change, check_of_it, precision):
    found = check(make, timed=left(change), matmul_precision=precision)
    assert (found.code, found.timed_results, found.decided_by) == ("FAIL", "differ", check_of_it)


def test_a_gradient_that_is_wrong_in_the_timed_process_alone_fails(check, left):
    found = check(make, timed=left(test="train", wrong_gradient=True), test="train")
    assert (found.code, found.first_failed) == ("FAIL", "timed process: grad.weight")


@pytest.mark.parametrize("test", ["eval", "train"])
def test_a_timed_process_that_gives_what_it_gave_before_fails(check, left, test):
    """Its results of the usual inputs are right."""
    found = check(make, timed=left(test=test, ignoring=True), test=test)
    assert (found.code, found.timed_results, found.decided_by) == ("FAIL", "differ", "bitwise")
    assert any("with other inputs, the timed process gives the same" in note for note in found.notes)


@pytest.mark.parametrize("with_usual", [True, False])
def test_a_timed_process_that_raises_where_eager_does_not_has_no_pass(check, left, tmp_path, with_usual):
    """A wrong result would not have been noticed: it may know the usual inputs alone, or what comes after them."""
    usual = torch.load(left())["usual"] if with_usual else {}
    path = str(tmp_path / "raised.pt")
    save(path, usual, {}, "ValueError: never seen")
    found = check(make, timed=path)
    assert (found.code, found.decided_by) == ("VERIFIER_SKIPPED", "unjudged")
    assert found.timed_results == ("agree" if with_usual else "not compared: the timed process raised an exception")
    assert [note for note in found.notes if note.endswith("and eager did not: ValueError: never seen")]


def test_less_exact_products_are_noted(check, left):
    """A GPU's TensorFloat-32 is not what verification computes with."""
    found = check(make, timed=left(lambda result: result * 1.05), matmul_precision="medium")
    assert (found.code, found.timed_results) == ("PASS", "differ")
    assert any("less exactly" in note for note in found.notes)


@pytest.mark.parametrize("test", ["eval", "train"])
@pytest.mark.parametrize(
    ("precision", "change"),
    [
        ("high", lambda output: output * 1.05),
        ("medium", torch.zeros_like),
        ("default", lambda output: output * 1.3),
        ("high", lambda output: output * math.nan),
    ],
)
def test_what_less_exact_products_do_not_explain_is_wrong(check, left, precision, change, test):
    found = check(make, timed=left(change, test), matmul_precision=precision, test=test)
    assert (found.code, found.timed_results) == ("FAIL", "differ")
    assert any("less exact products do not explain it" in note for note in found.notes)


def test_what_dropout_changes_is_not_compared(check, left):
    """A block that is dropped has no gradient, whatever the inputs are."""
    found = check(
        lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)),
        timed=left(test="train", make=lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(1.0))),
        test="train",
    )
    assert found.code == "PASS"
    assert "dropout is active" in found.timed_results


def test_what_changes_from_iteration_to_iteration_is_not_compared(check, left):
    found = check(make, timed=left(lambda result: result + 1, "train"), test="train", optimizer="SGD")
    assert found.code == "PASS"
    assert "change from iteration to iteration" in found.timed_results


def test_gradients_and_results_of_other_inputs_are_left_out_where_they_are_large(monkeypatch, tmp_path):
    module, path = make(), tmp_path / "results.pt"
    of = config("inductor", test="train")
    assert list(results_of(torch.ones(1), of, module)) == ["loss", "grad.weight", "grad.bias"]
    monkeypatch.setattr(timed_results, "GRADIENTS_LIMIT_BYTES", 79)
    results = results_of(torch.ones(1), of, module)
    assert list(results) == ["loss"]
    monkeypatch.setattr(timed_results, "RESULTS_LIMIT_BYTES", 7)
    save(str(path), results, results)
    assert torch.load(path) == {"usual": results, "other": {}, "raised": None}


def test_without_results_nothing_is_said(check, tmp_path):
    assert check(make).timed_results is None
    assert "kept no results" in check(make, timed=str(tmp_path / "none")).timed_results


class Doubling(torch.autograd.Function):
    """The same values, and twice the gradients."""

    @staticmethod
    def forward(ctx, values):
        return values * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class WrongBackward(Eager):
    """Eager whose gradients are twice as large."""

    def compile(self, step, config):
        return lambda args, kwargs: Doubling.apply(step(args, kwargs))


def tensor(*shape):
    return {"type": "tensor", "dtype": "float", "shape": list(shape)}


def size(number):
    return {"type": "int", "value": number}


LINEAR = Operator(name="torch.nn.Linear", build={"args": [size(8), size(2)]}, input={"args": [tensor(4, 8)]})
PRODUCT = Operator(name="torch.mul", input={"args": [tensor(4, 8), tensor(4, 8)]})


@pytest.fixture
def timed_under(monkeypatch, tmp_path):
    """Take a block of an operator under a backend, and verify eager with the results that it leaves."""

    def run(backend, operator, test):
        monkeypatch.setattr(timed_step, "backend_of", lambda *_: backend)
        of = config("eager", operator.name, suite_name="operators", operator=operator, test=test)
        path = str(tmp_path / "results.pt")
        load = Load(
            config=of, settings=settings(), batch_size=None, torchbench_dir=None, requested_at=0.0, results=path
        )
        process = ExperimentMeasurement(load)
        process.load()
        process.first()
        process.examine(process.report(finished=True))
        return verify(load, path)

    return run


@pytest.mark.parametrize(("operator", "first"), [(PRODUCT, "input_grad[0]"), (LINEAR, "grad.call.weight")])
def test_an_operator_whose_gradients_are_wrong_where_it_is_timed_fails(timed_under, operator, first):
    """An operator's own step returns output and gradients; verification runs it as any other model."""
    right, wrong = (timed_under(backend, operator, "train") for backend in (Eager(), WrongBackward()))
    assert (right.code, right.timed_results) == ("PASS", "agree")
    assert (wrong.code, wrong.timed_results, wrong.first_failed) == ("FAIL", "differ", f"timed process: {first}")


class WrongWhileTimed(Eager):
    """Eager that is wrong in its first call, which is the only one of the block."""

    def compile(self, step, config):
        calls = []

        def run(args, kwargs):
            calls.append(None)
            return step(args, kwargs) * (2 if len(calls) == 1 else 1)

        return run


def test_the_results_that_are_compared_are_those_of_a_timed_iteration(timed_under):
    """One that is right again in a further iteration is wrong."""
    found = timed_under(WrongWhileTimed(), PRODUCT, "eval")
    assert (found.code, found.first_failed) == ("FAIL", "timed process: output")
