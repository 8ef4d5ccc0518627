"""Two results are compared leaf by leaf; the finding names the first that failed."""

from __future__ import annotations

import pytest

from runner.verify import notes
from runner.verify.compare import compare, first_difference, kind_of
from runner.verify.judge import Rule
from runner.verify.leaves import Opaque
from runner.verify.tables import Deviation

torch = pytest.importorskip("torch")
RULE = Rule(tolerance=1e-3)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float32)


def doubles(leaves):
    return {name: value.double() for name, value in leaves.items()}


def test_the_first_failure_is_named():
    eager = {"loss": tensor(1.0), "grad.a": tensor(1.0), "grad.b": tensor(1.0)}
    result = {"loss": tensor(1.0), "grad.a": tensor(2.0), "grad.b": tensor(5.0)}
    found = compare(eager, result, doubles(eager), RULE)
    assert (found.passed, found.first_failed, found.decided_by, found.tensors) == (False, "grad.a", "rmse", 3)
    assert (found.max_abs, found.rmse, found.furthest) == (4.0, 1.0, "grad.a")


def test_a_pass_rests_on_its_weakest_check():
    eager = {"a": tensor(1.0), "b": tensor(1.0)}
    found = compare(eager, {"a": tensor(1.0), "b": tensor(1.00001)}, None, RULE)
    assert (found.passed, found.decided_by) == (True, "allclose")


@pytest.mark.parametrize("result", [{}, {"a": tensor(1.0), "b": tensor(1.0)}])
def test_other_leaves_are_another_structure(result):
    found = compare({"a": tensor(1.0)}, result, None, RULE)
    assert (found.passed, found.decided_by) == (False, "structure")
    assert found.first_failed == ("b" if result else "a")


def test_what_cannot_be_compared_is_said_and_counts_as_no_tensor():
    found = compare({"a": Opaque("Cache")}, {"a": Opaque("Cache")}, None, RULE)
    assert (found.passed, found.tensors, found.opaque) == (True, 0, ["a (Cache)"])


def test_noise_has_no_part_in_the_relative_figures():
    eager = {"loss": tensor(1.0), "grad.a": tensor(2e-9)}
    result = {"loss": tensor(1.0), "grad.a": tensor(-3e-9)}
    double = {"loss": tensor(1.0).double(), "grad.a": torch.zeros(1, dtype=torch.float64)}
    found = compare(eager, result, double, RULE)
    assert (found.passed, found.max_rel, found.cosine, found.noise) == (True, 0.0, 1.0, ["grad.a"])


def test_a_known_deviation_passes_and_is_named():
    eager = {"buffer.running_var": tensor(1.0)}
    known = Deviation(xla=True, tensors=r"^buffer\.running_var$", tolerance=0.5, reason="it is biased")
    found = compare(eager, {"buffer.running_var": tensor(0.9)}, doubles(eager), RULE, [known])
    assert found.passed
    assert notes.of(found)[0] == "buffer.running_var: outside the tolerance, but known: it is biased"
    assert not compare(eager, {"buffer.running_var": tensor(0.1)}, doubles(eager), RULE, [known]).passed
    assert not compare({"buffer.x": tensor(1.0)}, {"buffer.x": tensor(0.9)}, None, RULE, [known]).passed


def test_what_the_tolerance_allows_but_rounding_does_not_explain_is_noted():
    eager = {"output": tensor(1.0, 2.0)}
    found = compare(eager, {"output": tensor(1.0005, 2.0)}, {"output": tensor(1.0000001, 2.0).double()}, RULE)
    assert found.passed
    assert "rounding does not explain it" in notes.of(found)[0]


def test_notes_name_three_and_count_the_rest():
    eager = {f"grad.{index}": tensor(1e-8, 2e-8) for index in range(5)}
    (note,) = notes.of(compare(eager, eager, doubles(eager), RULE))
    assert note.startswith("grad.0, grad.1, grad.2 and 2 more: all values lie below the tolerance")


def test_values_that_are_not_finite_are_noted():
    eager = {"output": tensor(float("inf"), 1.0)}
    (note,) = notes.of(compare(eager, eager, None, RULE))
    assert note == "output: eager's values are not all finite"


def test_first_difference():
    first = {"a": tensor(1.0), "b": tensor(1.0)}
    assert first_difference(first, {"a": tensor(1.0), "b": tensor(1.0)}) is None
    assert first_difference(first, {"a": tensor(1.0), "b": tensor(2.0)}) == "b"
    assert first_difference(first, {"a": tensor(1.0)}) == "b"


@pytest.mark.parametrize(("name", "kind"), [("output[0]", "output"), ("loss", "loss"), ("grad.fc.weight", "grad")])
def test_kind(name, kind):
    assert kind_of(name) == kind
