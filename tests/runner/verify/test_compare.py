"""Two results are compared leaf by leaf; the finding names the first that failed."""

import math

import pytest

from runner.verify.compare import Expected, compare, differences, inconclusive, kind_of, moved, notes_of, unchanged
from runner.verify.judge import CONSTANT, NOISE, NOT_FINITE, TensorRule
from runner.verify.leaves import Opaque
from runner.verify.tables import Deviation

torch = pytest.importorskip("torch")
RULE = TensorRule(tolerance=1e-3)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float32)


def doubles(leaves):
    return {name: value.double() for name, value in leaves.items()}


def one(eager, result, double=None, rule=RULE, deviations=(), **changes):
    """Compare one iteration."""
    reference = None if double is None else [double]
    return compare(Expected(eager=[eager], double=reference, rule=rule, deviations=deviations, **changes), [result])


def test_the_first_failure_is_named():
    eager = {"loss": tensor(1.0), "grad.a": tensor(1.0), "grad.b": tensor(1.0)}
    result = {"loss": tensor(1.0), "grad.a": tensor(2.0), "grad.b": tensor(5.0)}
    found = one(eager, result, doubles(eager))
    assert (found.passed, found.first_failed, found.decided_by, found.tensors) == (False, "grad.a", "rmse", 3)
    assert (found.max_abs, found.rmse, found.furthest) == (4.0, 1.0, "grad.a")


def test_a_pass_rests_on_its_weakest_check():
    eager = {"a": tensor(1.0), "b": tensor(1.0)}
    found = one(eager, {"a": tensor(1.0), "b": tensor(1.00001)})
    assert (found.passed, found.decided_by) == (True, "allclose")


@pytest.mark.parametrize("result", [{}, {"a": tensor(1.0), "b": tensor(1.0)}])
def test_other_leaves_are_another_structure(result):
    found = one({"a": tensor(1.0)}, result)
    assert (found.passed, found.decided_by) == (False, "structure")
    assert found.first_failed == ("b" if result else "a")


def test_what_cannot_be_compared_is_said_and_counts_as_no_tensor():
    found = one({"a": Opaque("Cache")}, {"a": Opaque("Cache")})
    assert (found.passed, found.tensors, found.opaque) == (True, 0, ["a (Cache)"])


def test_noise_is_not_judged_and_has_no_part_in_the_figures():
    """However far off it is: that is said."""
    eager = {"loss": tensor(1.0), "grad.a": tensor(2e-9)}
    result = {"loss": tensor(1.0), "grad.a": tensor(-3.0)}
    double = {"loss": tensor(1.0).double(), "grad.a": torch.zeros(1, dtype=torch.float64)}
    found = one(eager, result, double)
    assert (found.passed, found.conclusive, found.max_rel, found.cosine) == (True, True, 0.0, 1.0)
    assert (found.unjudged, found.judged) == ({"grad.a": NOISE}, {"loss"})
    assert "grad.a: not judged, and 3 away (grad.a)" in notes_of(found)


def test_what_changes_with_the_seed_is_judged_only_where_it_agrees():
    """Some backends draw the same numbers."""
    eager = {"loss": tensor(1.0)}
    for value, judged in ((1.0, True), (2.0, False)):
        found = one(eager, {"loss": tensor(value)}, doubles(eager), seeded=frozenset({"loss"}))
        assert (found.passed, found.conclusive) == (True, judged)


def test_without_a_judged_loss_there_is_no_pass():
    eager = {"loss": tensor(1e-9), "grad.a": tensor(1.0)}
    found = one(eager, eager, {"loss": tensor(0.0).double(), "grad.a": tensor(1.0).double()})
    assert (found.passed, found.conclusive, found.missing()) == (True, False, ["loss"])
    share = "1 of 2 tensors were judged and are right"
    assert inconclusive(found) == f"no PASS, because loss could not be judged: {share}"


def test_a_constant_beside_what_varies_does_not_matter():
    eager = {"output[0]": tensor(1.0, 2.0), "output[1]": tensor(3.0, 3.0)}
    found = one(eager, eager, doubles(eager))
    assert (found.passed, found.conclusive, found.unjudged) == (True, True, {"output[1]": CONSTANT})
    wrong = eager | {"output[1]": tensor(3.0, 4.0)}
    assert one(eager, wrong, doubles(eager)).first_failed == "output[1]"


def test_what_other_weights_leave_as_it_is_is_a_constant():
    eager = {"output[0]": tensor(1.0, 2.0), "output[1]": tensor(3.0, 4.0)}
    expected = Expected(eager=[eager], double=[doubles(eager)], rule=RULE)
    assert unchanged(expected, {"output[0]": tensor(5.0, 2.0), "output[1]": tensor(3.0, 4.0)}) == {"output[1]"}


def test_a_loss_that_varies_by_less_than_its_tolerance_varies():
    """The loss of random weights is near the logarithm of the number of classes, whatever they are."""
    eager = {"loss": tensor(10.33)}
    expected = Expected(eager=[eager], double=[doubles(eager)], rule=TensorRule(tolerance=1e-2))
    assert unchanged(expected, {"loss": tensor(10.34)}) == frozenset()
    assert unchanged(expected, eager) == {"loss"}


def test_each_iteration_is_compared_with_its_own():
    steps = [{"loss": tensor(value)} for value in (1.0, 2.0, 3.0)]
    expected = Expected(eager=steps, double=[doubles(each) for each in steps], rule=RULE)
    assert compare(expected, steps).passed
    found = compare(expected, [*steps[:2], {"loss": tensor(3.1)}])
    assert (found.passed, found.failed_iteration) == (False, 3)
    assert notes_of(found)[0] == "loss: correct before iteration 3"


def test_gradients_have_no_samples():
    """Their first dimension may be as long as the batch."""
    eager = {"grad.a": torch.linspace(1, 2, 8).view(8, 1), "output": torch.linspace(1, 2, 8).view(8, 1)}
    wrong = {name: leaf + 1 for name, leaf in eager.items()}
    for name, leaf in eager.items():
        found = one({name: leaf}, {name: wrong[name]}, doubles(eager), samples=8, rows=2)
        assert (found.failed_samples is None) == (name == "grad.a")


def test_a_known_deviation_passes_and_is_named():
    eager = {"buffer.running_var": tensor(1.0)}
    known = Deviation(xla=True, tensors=r"^buffer\.running_var$", tolerance=0.5, reason="it is biased")
    found = one(eager, {"buffer.running_var": tensor(0.9)}, doubles(eager), RULE, [known])
    assert found.passed
    assert notes_of(found)[0] == "buffer.running_var: outside the tolerance, but known: it is biased"
    assert not one(eager, {"buffer.running_var": tensor(0.1)}, doubles(eager), RULE, [known]).passed
    assert not one({"buffer.x": tensor(1.0)}, {"buffer.x": tensor(0.9)}, None, RULE, [known]).passed


def test_what_the_tolerance_allows_but_rounding_does_not_explain_is_noted():
    eager = {"output": tensor(1.0, 2.0)}
    found = one(eager, {"output": tensor(1.0005, 2.0)}, {"output": tensor(1.0000001, 2.0).double()})
    assert found.passed
    assert "rounding does not explain it" in notes_of(found)[0]


def test_notes_name_three_and_count_the_rest():
    eager = {f"grad.{index}": tensor(1e-8, 2e-8) for index in range(5)}
    (note,) = notes_of(one(eager, eager, doubles(eager)))
    assert note.startswith("grad.0, grad.1, grad.2 and 2 more: judged more strictly")


def test_values_that_only_float64_can_hold_are_left_out():
    eager, double = {"output": tensor(float("inf"), 1.0, 2.0)}, {"output": tensor(5.0, 1.0, 2.0).double()}
    assert one(eager, {"output": tensor(5.0, 1.0, 2.0)}, double).passed
    assert not one(eager, {"output": tensor(5.0, 1.1, 2.0)}, double).passed
    nothing = {"output": tensor(float("nan"), float("inf"))}
    assert one(nothing, nothing, doubles(nothing)).unjudged == {"output": NOT_FINITE}


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("wrong", [0.0, float("inf"), float("-inf"), float("nan")])
def test_infinity_and_nan_are_values_where_float64_has_them_too(value, wrong):
    eager = {"output": tensor(value, 1.0, 2.0)}
    assert one(eager, eager, doubles(eager)).passed
    found = one(eager, {"output": tensor(wrong, 1.0, 2.0)}, doubles(eager))
    same = wrong == value or (wrong != wrong and value != value)  # noqa: PLR0124 - NaN
    assert (found.passed, found.decided_by == "finite") == (same, not same)


@pytest.mark.parametrize("size", [0.0, 1.0])
def test_one_wrong_element_is_not_lost_in_a_million(size):
    """Be it of zeros, or of values."""
    eager = {"output": size * torch.linspace(1, 2, 1_000_000), "loss": tensor(1.0)}
    result = {"output": eager["output"].clone(), "loss": tensor(1.0)}
    result["output"][234_567] += 0.3
    rule = TensorRule(tolerance=1e-2)
    assert one(eager, eager, doubles(eager), rule).passed
    assert not one(eager, result, doubles(eager), rule).passed


def test_a_value_that_cannot_be_compared_allows_no_pass():
    """A function, which a model can return as well, is no value."""
    eager = {"output[0]": tensor(1.0, 2.0), "output[1]": Opaque("generator")}
    found = one(eager, eager, doubles({"output[0]": eager["output[0]"]}))
    assert (found.passed, found.conclusive, found.missing()) == (True, False, ["output[1]"])
    eager["output[1]"] = Opaque("function", code=True)
    assert one(eager, eager, doubles({"output[0]": eager["output[0]"]})).conclusive


def test_differences_of_two_runs():
    first = [{"a": tensor(1.0), "b": tensor(1.0)}, {"a": tensor(1.0)}]
    assert differences(first, first) == []
    assert differences(first, [{"a": tensor(1.0), "b": tensor(2.0)}, {"a": tensor(1.0)}]) == [("b", 0)]
    assert differences(first, [first[0], {"a": tensor(3.0)}]) == [("a", 1)]
    assert differences(first, [{"a": tensor(1.0)}, first[1]]) == [("b", 0)]


@pytest.mark.parametrize(("name", "kind"), [("output[0]", "output"), ("loss", "loss"), ("grad.fc.weight", "grad")])
def test_kind(name, kind):
    assert kind_of(name) == kind


def test_a_mask_of_infinity_does_not_hide_what_rounding_moves():
    """The difference of two infinities is NaN, and no result is within that."""
    first = {"output": torch.tensor([1.0, -math.inf, math.nan], dtype=torch.float64)}
    other = {"output": torch.tensor([3.0, -math.inf, math.nan], dtype=torch.float64)}
    expected = Expected(eager=[first], double=[first], rule=TensorRule(tolerance=1e-3))
    assert moved(expected, [other]) == {(0, "output"): pytest.approx(2 / math.sqrt(3))}
