"""One tensor is judged as `torch._dynamo.utils.same` judges it; where zeros would pass, more strictly."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.verify.judge import CONSTANT, NOISE, ZEROS, TensorRule, Yardstick, judge
from runner.verify.leaves import identical

torch = pytest.importorskip("torch")
SHAPES = ((3,), (8,), (40, 20), (2, 3, 1, 1), (1500,))
DTYPES = ("float32", "float16", "bfloat16")


def rule(tolerance=1e-3, **changes):
    return TensorRule(tolerance=tolerance, **changes)


@st.composite
def cases(draw):
    """Eager's tensor, the backend's and float64's, with errors of all sizes."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    shape, dtype = draw(st.sampled_from(SHAPES)), getattr(torch, draw(st.sampled_from(DTYPES)))

    def noise():
        return torch.randn(shape, generator=generator, dtype=torch.float64) * 10.0 ** draw(st.integers(-9, 0))

    double = torch.randn(shape, generator=generator, dtype=torch.float64) * 10.0 ** draw(st.integers(-1, 2))
    eager, result = (double + noise()).to(dtype), (double + noise()).to(dtype)
    tolerance = draw(st.sampled_from([1e-4, 1e-3, 1e-2, 4e-2]))
    return eager, result, draw(st.sampled_from([double, None])), tolerance


@given(cases(), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=75, deadline=None)
def test_the_verdict_is_that_of_same(case, cosine, larger, largest):
    """Where that rule would notice a wrong answer: zeros, rows rotated, the sign, 5 %.

    By cosine, it does not notice that one element is off by more than 5 % of the largest.
    """
    from torch._dynamo.utils import same

    eager, result, double, tolerance = case
    judged = judge(
        eager, result, double, rule(tolerance, cosine=cosine, larger_multiplier=larger, max_multiplier=largest)
    )
    if judged.tight or judged.unjudged:
        return
    expected = same(
        eager,
        result,
        double,
        cos_similarity=cosine,
        tol=tolerance,
        equal_nan=True,
        use_larger_multiplier_for_smaller_tensor=larger,
        force_max_multiplier=largest,
        log_error=lambda *_: None,
    )
    reference = eager.double() if double is None else double
    one_off = cosine and expected and float((reference - result).abs().max()) > 0.05 * float(reference.abs().max())
    assert judged.passed == expected or (one_off and not judged.passed)


@given(st.integers(0, 2**31), st.integers(-12, -6), st.sampled_from([-9, -8, -7, -2, -1, 0]))
@settings(max_examples=30, deadline=None)
def test_small_values_are_judged_in_units_of_the_largest(seed, size, error):
    """A result near 1e-8 is as right or wrong as the same one near 1."""
    generator = torch.Generator().manual_seed(seed)
    double = torch.randn(30, generator=generator, dtype=torch.float64) * 10.0**size
    off = torch.randn(30, generator=generator, dtype=torch.float64)
    result = (double * (1 + 10.0**error * off)).float()
    judged = judge(double.float(), result, double, rule(1e-3))
    assert (judged.passed, judged.tight, judged.unjudged) == (error < -2, True, None)


def test_zeros_in_place_of_small_values_fail():
    """`same` lets them pass: the absolute tolerance is larger than the values."""
    from torch._dynamo.utils import same

    double = torch.linspace(1e-8, 2e-8, 10, dtype=torch.float64)
    eager, result = double.float(), torch.zeros(10)
    assert same(eager, result, double, tol=1e-3)
    assert not judge(eager, result, double, rule()).passed


def test_rounding_noise_is_not_judged():
    """A gradient that would be zero but for rounding has no right digit in eager either."""
    eager, result = torch.linspace(1e-9, 3e-9, 20), torch.linspace(-5e-9, 5e-9, 20)
    judged = judge(eager, result, torch.zeros(20, dtype=torch.float64), rule())
    assert judged.unjudged == NOISE


def test_without_float64_small_beside_the_largest_of_the_kind_is_noise():
    eager = torch.linspace(1e-8, 2e-8, 10)
    assert judge(eager, torch.zeros(10), None, rule(), least_scale=1.0).unjudged == NOISE
    judged = judge(eager, torch.zeros(10), None, rule(), least_scale=2e-8)
    assert (judged.passed, judged.unjudged) == (False, None)


@pytest.mark.parametrize(("value", "why"), [(0.0, ZEROS), (3.0, CONSTANT)])
def test_constants_are_not_judged_and_yet_can_be_wrong(value, why):
    eager = torch.full((4, 3), value)
    right, wrong = (judge(eager, eager + off, eager.double(), rule()) for off in (0, 1))
    assert (right.passed, right.unjudged, wrong.passed) == (True, why, False)


MUTATIONS = {
    "zeros": torch.zeros_like,
    "rows rotated": lambda tensor: tensor.roll(1, 0),
    "sign": torch.neg,
    "5 %": lambda tensor: tensor * 1.05,
}


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("cosine", [False, True])
def test_what_is_judged_notices_mutations(mutation, cosine):
    """Of every size and by every tolerance, 0.16 of the tables included; with and without float64."""
    for size, tolerance in itertools.product([1e-9, 1e-3, 1.0, 1e3], [1e-4, 1e-2, 0.16]):
        double = size * torch.randn(64, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        eager = double.float()
        for reference in (double, None):
            judged = judge(eager, MUTATIONS[mutation](eager), reference, rule(tolerance, cosine=cosine))
            assert (judged.passed, judged.unjudged) == (False, None), (size, tolerance)
            right = judge(eager, eager * (1 + 1e-6), reference, rule(tolerance, cosine=cosine))
            assert right.passed, (size, tolerance)


@pytest.mark.parametrize(("off", "passed"), [(0.5, True), (2.0, False)])
@pytest.mark.parametrize("size", [1e-6, 1.0])
def test_twice_the_bound_in_all_elements_fails(off, passed, size):
    """Half of it passes."""
    double = size * torch.randn(64, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    eager = double.float()
    its = Yardstick.of(eager, double, rule(1e-3))
    result = eager.double() + off * its.tolerance * (its.scale + eager.abs())
    assert its.judge(result.float()).passed == passed


def test_one_wrong_row_of_many_fails():
    """The error of 16,384 rows together is within the rule; that of its chunk of four is not."""
    double = torch.randn(16384, 10, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    eager = (double + 1e-3 * torch.randn(16384, 10, generator=torch.Generator().manual_seed(2))).float()
    wrong = eager.clone()
    wrong[12345] += 0.05
    assert judge(eager, wrong, double, rule(1e-4)).passed
    judged = judge(eager, wrong, double, rule(1e-4), rows=4)
    assert (judged.passed, judged.samples) == (False, (12344, 12347))
    right = double + 1e-3 * torch.randn(16384, 10, generator=torch.Generator().manual_seed(3))
    assert judge(eager, right.float(), double, rule(1e-4), rows=4).passed


def test_autocast_may_give_another_dtype():
    """Each device type has its own list of ops in float32; the values still have to be right."""
    double = torch.linspace(1, 2, 8, dtype=torch.float64)
    eager, result = double.bfloat16(), double.float()
    assert not judge(eager, result, double, rule()).passed
    assert judge(eager, result, double, rule(widen=True)).passed
    assert not judge(eager, result * 1.05, double, rule(widen=True)).passed
    assert not judge(eager, result.int(), double, rule(widen=True)).passed


@pytest.mark.parametrize(
    ("eager", "result", "double", "changes", "passed", "check"),
    [
        ([1.0, 2.0], [1.0, 2.0], None, {}, True, "bitwise"),
        ([1.0, 2.0], [1.0, 2.0001], None, {}, True, "allclose"),
        ([1.0, 2.0], [1.0, 2.1], None, {}, False, "allclose"),
        ([1.0, 2.0], [1.0, 2.1], [1.0, 2.05], {}, True, "rmse"),
        ([1.0, 2.0], [1.0, 2.5], [1.0, 2.05], {}, False, "rmse"),
        ([1.0, 2.0], [1.005, 2.0], None, {"cosine": True}, True, "cosine"),
        ([1.0, 2.0], [1.0, 2.1], None, {"cosine": True}, False, "cosine"),
        ([1.0, 2.0], [2.0, 1.0], None, {"cosine": True}, False, "cosine"),
        ([1.0, math.nan], [1.0, 2.05], [1.0, 2.05], {}, True, "bitwise"),
        ([1.0, math.nan], [math.nan, 2.0], [1.0, 2.0], {}, False, "finite"),
        ([1.0, 2.0], [1.0, math.nan], [1.0, 2.0], {}, False, "finite"),
        ([1.0, 2.0], [1.0], None, {}, False, "shape"),
        ([1.0, 2.0], [1, 2], None, {}, False, "dtype"),
        ([True, False, True], [True, False, True], None, {}, True, "bitwise"),
        ([True, False, True], [True, True, True], None, {}, False, "allclose"),
        ([True, True, True, False], [True, True, True, True], None, {"iou": 0.7}, True, "iou"),
        ([True, True, True, False], [True, True, True, True], None, {"iou": 0.8}, False, "iou"),
        ([3, 4], [3, 5], None, {}, False, "allclose"),
        ([30000, 4], [30001, 4], None, {"tolerance": 1e-2}, False, "allclose"),
        ([True, False, True], [True, True, True], None, {"tolerance": 2.0}, False, "allclose"),
    ],
)
def test_the_check_that_decides(eager, result, double, changes, passed, check):
    reference = None if double is None else torch.tensor(double, dtype=torch.float64)
    judged = judge(torch.tensor(eager), torch.tensor(result), reference, rule(**changes))
    assert (judged.passed, judged.check) == (passed, check)


def test_figures():
    """The relative error is that of the largest difference against the largest value."""
    eager, result = torch.tensor([1.0, -4.0]), torch.tensor([1.5, -4.0])
    judged = judge(eager, result, torch.tensor([1.0, -4.0], dtype=torch.float64), rule())
    assert (judged.max_abs, judged.max_rel) == (0.5, 0.125)
    assert judged.rmse == pytest.approx(0.5 / math.sqrt(2))
    assert judged.rmse_eager == 0.0
    assert judged.cosine == pytest.approx(17.5 / math.sqrt(17 * 18.25))


@pytest.mark.parametrize(
    ("eager", "result", "passed"),
    [("a", "a", True), (1, 2, False), (None, None, True), (1, 1.0, False), (1.0, 1.0, True)],
)
def test_plain_values_have_to_be_equal(eager, result, passed):
    assert judge(eager, result, None, rule()).passed == passed


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, math.nan]), True),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0000002]), False),
        (torch.tensor([True]), torch.tensor([False]), False),
        (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), False),
        (math.nan, math.nan, True),
        ("a", "b", False),
    ],
)
def test_two_eager_runs_agree_exactly_or_not(first, second, expected):
    assert identical(first, second) == expected


def test_complex_tensors_are_pairs_of_numbers():
    eager, result = torch.tensor([1 + 1j]), torch.tensor([1 + 2j])
    judged = judge(eager, result, torch.tensor([1 + 1j], dtype=torch.complex128), rule())
    assert (judged.passed, judged.check, judged.max_abs) == (False, "rmse", 1.0)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"])
def test_dtypes_that_torch_computes_little_with_are_judged(name):
    dtype = getattr(torch, name)
    eager, wrong = (torch.tensor(values).to(dtype) for values in ([1, 2, 3], [1, 2, 6]))
    double = eager.double() if dtype.is_floating_point else None
    assert judge(eager, eager.clone(), double, rule()).passed
    assert not judge(eager, wrong, double, rule()).passed
    widened = eager.float() if dtype.is_floating_point else eager.to(torch.int64)
    assert judge(eager, widened, double, rule()).check == "dtype"


def test_quantised_values_are_judged():
    eager, wrong = (torch.quantize_per_tensor(torch.tensor(values), 0.5, 0, torch.qint8) for values in ([1.0], [2.0]))
    assert judge(eager, eager.clone(), eager.clone(), rule()).passed
    assert not judge(eager, wrong, eager.clone(), rule()).passed


def test_a_pair_of_numbers_is_no_complex_one():
    eager = torch.tensor([1 + 2j, 3 + 4j])
    assert judge(eager, torch.view_as_real(eager), eager.to(torch.complex128), rule()).check == "dtype"


def test_an_empty_tensor_is_right_if_its_shape_is():
    eager = torch.ones(0, 3)
    found = judge(eager, torch.ones(0, 3), eager.double(), rule())
    assert (found.passed, found.unjudged) == (True, ZEROS)
    assert not judge(eager, torch.ones(0, 4), eager.double(), rule()).passed


POSITIONS = torch.arange(100, 200)


def turned(positions, *places, by=1):
    changed = positions.clone()
    changed[list(places)] += by
    return changed


@pytest.mark.parametrize(
    ("eager", "result", "passed"),
    [
        (POSITIONS, turned(POSITIONS, 3), False),
        (turned(POSITIONS, 3, 4), POSITIONS, True),
        (turned(POSITIONS, 3, 4), turned(POSITIONS, 7, 8, 9), True),
        (turned(POSITIONS, 3, 4), turned(POSITIONS, *range(5, 15)), False),
        (turned(POSITIONS, 3, 4), turned(POSITIONS, 7, by=50), False),
    ],
)
def test_positions_turn_as_often_and_as_far_as_eagers_do(eager, result, passed):
    """In bfloat16, eager's argmax is not that of float64, and neither is a right backend's."""
    judged = judge(eager, result, POSITIONS, rule())
    assert (judged.passed, judged.unjudged) == (passed, None)


def test_positions_without_float64_are_equal():
    assert not judge(turned(POSITIONS, 3), POSITIONS, None, rule()).passed


def test_truth_values_turn_as_often_as_eagers_do():
    double = torch.arange(100) % 2 == 0
    eager, result, noise = double.clone(), double.clone(), double.clone()
    eager[1], result[[2, 4]], noise[:60] = ~eager[1], ~result[[2, 4]], ~noise[:60]
    assert judge(eager, result, double, rule()).passed
    assert not judge(eager, ~double, double, rule()).passed
    assert judge(noise, result, double, rule()).unjudged == NOISE


@pytest.mark.parametrize("double", [True, False])
def test_one_element_that_cosine_does_not_show_is_wrong(double):
    eager = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
    reference = eager.double() if double else None
    rule = TensorRule(tolerance=1e-4, cosine=True)
    assert judge(eager, eager * (1 + 1e-3 * torch.rand(100_000)), reference, rule).passed
    wrong = eager.clone()
    wrong[5] += 0.2 * eager.abs().max()
    assert not judge(eager, wrong, reference, rule).passed


@pytest.mark.parametrize("value", [1e-6, 1e-3, 1.0, 1e3])
def test_a_constant_is_judged_relative_to_its_value(value):
    eager, reference = torch.full((64,), value), torch.full((64,), value).double()
    rule = TensorRule(tolerance=1e-2)
    assert judge(eager, eager * (1 + 1e-6), reference, rule).passed
    found = judge(eager, eager * 1.03, reference, rule)
    assert (found.passed, found.unjudged) == (False, "constant")
