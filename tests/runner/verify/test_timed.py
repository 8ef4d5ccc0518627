"""The timed process leaves its own results, and they are judged like those of the verification."""

from __future__ import annotations

import math

import pytest
from runner_makers import config
from verify_makers import Suite

from runner.process import timed_step
from runner.process.timed_step import keep_results, results_of
from runner.verify.preparation import others

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
        keep_results(str(path), results(values), results(values if ignoring else others(values, 4)))
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
    monkeypatch.setattr(timed_step, "GRADIENTS_LIMIT_BYTES", 79)
    results = results_of(torch.ones(1), of, module)
    assert list(results) == ["loss"]
    monkeypatch.setattr(timed_step, "RESULTS_LIMIT_BYTES", 7)
    keep_results(str(path), results, results)
    assert torch.load(path) == {"usual": results, "other": {}}


def test_without_results_nothing_is_said(check, tmp_path):
    assert check(make).timed_results is None
    assert "kept no results" in check(make, timed=str(tmp_path / "none")).timed_results
