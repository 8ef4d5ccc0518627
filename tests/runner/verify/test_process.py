"""The order of a verification and its codes, with eager's backend and one that a test distorts."""

import math
import types
from collections import Counter
from typing import ClassVar

import pytest
from verify_makers import Distorting, Suite

from runner.backends.host import Eager
from runner.verify import process
from tests.tiers import first_of

torch = pytest.importorskip("torch")


class Four(torch.nn.Linear):
    """A layer of four numbers, which tests change."""

    def __init__(self):
        super().__init__(4, 4)


def test_a_right_backend_passes_and_the_control_is_noticed(check):
    found = check()
    assert (found.code, found.control, found.reference, found.tensors) == ("PASS", "noticed", "float64", 1)
    assert (found.decided_by, found.max_abs_error, found.notes, found.error) == ("bitwise", 0.0, [], None)
    assert found.rmse == found.rmse_eager > 0
    assert found.seconds > 0


def test_each_run_has_a_module_of_its_own_on_the_same_weights(check):
    """Twice eager, float64, the backend, the control."""
    suite = Suite(Four, size=1)
    check(suite=suite)
    assert len({id(module) for module in suite.modules}) == len(suite.requests) == 5
    assert {request.seed for request in suite.requests} == {1337}
    assert [module.weight.dtype for module in suite.modules] == [torch.float32] * 2 + [torch.float64] + [
        torch.float32
    ] * 2


def test_a_wrong_answer_fails(check):
    found = check(change=lambda output: output + 1)
    assert (found.code, found.first_failed, found.decided_by) == ("FAIL", "output", "rmse")
    assert found.max_abs_error == pytest.approx(1.0)
    assert found.control is None


@pytest.mark.parametrize("wrong", first_of([2, 1, 3]))
def test_every_iteration_is_compared(check, wrong):
    """A wrong one is told from right ones before and behind it."""
    calls = []

    def once(output):
        calls.append(1)
        return output + (len(calls) == wrong)

    found = check(change=once)
    assert (found.code, found.iterations, found.failed_iteration) == ("FAIL", 3, wrong)
    calls.clear()
    assert check(change=once, verify_iterations=wrong - 1 or 1).code == ("PASS" if wrong > 1 else "FAIL")


def test_train_compares_loss_gradients_and_buffers(check):
    def make():
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))

    found = check(make, test="train")
    assert (found.code, found.tensors) == ("PASS", 8)
    assert "grad.0.bias: eager itself is as far from float64 as a wrong answer would be" in found.unjudged


class Frozen(torch.nn.Module):
    """Gives its weight a wrong gradient under the backend: the loss stays right."""

    wrong = False

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, values):
        return values * self.weight


def test_a_wrong_gradient_fails(check):
    suite = Suite(Frozen)

    def spoil(loss):
        suite.modules[-1].weight.grad.mul_(2)
        return loss

    found = check(suite=suite, change=spoil, test="train")
    assert (found.code, found.first_failed) == ("FAIL", "grad.weight")


def test_a_missing_gradient_is_a_gradient_of_zeros(check):
    suite = Suite(Frozen)

    def spoil(loss):
        suite.modules[-1].weight.grad = None
        return loss

    assert check(suite=suite, change=spoil, test="train").first_failed == "grad.weight"


class Changing(Eager):
    """Eager, with something done to what it is given before or after an iteration."""

    def __init__(self, before=lambda args: args, after=lambda args: None):
        self._before, self._after = before, after

    def compile(self, step, config):
        def run(args, kwargs):
            args = self._before(args)
            output = step(args, kwargs)
            self._after(args)
            return output

        return run

    def invalid(self):
        return None


def test_a_wrong_gradient_of_an_input_fails(check):
    def inputs(size):
        return (torch.rand(size, 4, requires_grad=True),)

    right, wrong = Changing(), Changing(after=lambda args: args[0].grad.mul_(3))
    suite = Suite(Four, inputs=inputs)
    assert check(suite=suite, backend=right, test="train").code == "PASS"
    found = check(suite=suite, backend=wrong, test="train")
    assert (found.code, found.first_failed) == ("FAIL", "input_grad[0]")


class Caching(Four):
    """Writes into its second input."""

    def forward(self, values, cache):
        cache.copy_(values * 2)
        return super().forward(values)


@pytest.mark.parametrize("test", first_of(["train", "eval"]))
def test_an_input_that_is_not_written_into_as_eager_does_fails(check, test):
    suite = Suite(Caching, inputs=lambda size: (torch.rand(size, 4), torch.zeros(size, 4)))
    assert check(suite=suite, backend=Changing(), test=test).code == "PASS"
    lost = Changing(before=lambda args: (args[0], args[1].clone()))
    found = check(suite=suite, backend=lost, test=test)
    assert (found.code, found.first_failed) == ("FAIL", "input[1]")


class Remembering(Four):
    """Writes into a buffer in eval."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4, 4))
        self.register_buffer("idle", torch.zeros(4, 4))

    def forward(self, values):
        output = super().forward(values)
        self.last.copy_(output)
        return 2 * output


def test_a_buffer_that_eval_writes_into_is_compared(check):
    suite = Suite(Remembering)
    right = check(suite=suite)
    assert (right.code, right.tensors) == ("PASS", 2)

    def forget(output):
        suite.modules[-1].last.zero_()
        return output

    found = check(suite=suite, change=forget)
    assert (found.code, found.first_failed) == ("FAIL", "buffer.last")


def test_with_an_optimizer_parameters_are_compared(check):
    suite = Suite(Four)

    def spoil(loss):
        with torch.no_grad():
            suite.modules[-1].weight.add_(1)
        return loss

    assert check(suite=suite, change=spoil, test="train", optimizer="SGD").first_failed == "param.weight"
    assert check(test="train", optimizer="SGD").control == "noticed"


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.offset = torch.nn.Linear(4, 4), next(OFFSETS)

    def forward(self, values):
        return self.linear(values) + self.offset


OFFSETS = iter(range(1000))


def test_eager_that_differs_is_told_before_anything_else(check):
    found = check(Noisy)
    assert (found.code, found.decided_by, found.first_failed) == ("NONDETERMINISTIC_EAGER_RUN", "bitwise", "output")
    assert found.max_abs_error == pytest.approx(1.0)


class Raises(Four):
    def forward(self, values):
        raise ValueError("no forward")


def test_eager_that_raises(check):
    found = check(Raises)
    assert (found.code, found.decided_by) == ("EAGER_FAILED", "exception")
    assert (found.error.phase, found.error.type, found.error.message) == ("verify", "ValueError", "no forward")
    assert "no forward" in found.error.traceback


def test_a_model_that_cannot_be_built(check):
    def make():
        raise ValueError("no model")

    found = check(make)
    assert (found.code, found.error.phase, found.error.message) == ("EAGER_FAILED", "load", "no model")


@pytest.mark.parametrize(
    ("error", "decided_by"),
    [(ValueError("no step"), "exception"), (RuntimeError("RESOURCE_EXHAUSTED: of memory"), "oom")],
)
def test_a_backend_that_raises(check, error, decided_by):
    def change(output):
        raise error

    found = check(change=change)
    assert (found.code, found.decided_by, found.error.message) == ("EXCEPTION_RAISED", decided_by, str(error))


class Single(Four):
    """Knows float32 only."""

    def forward(self, values):
        if values.dtype == torch.float64:
            raise TypeError("float32 only")
        return super().forward(values)


def test_without_float64_the_check_is_weaker_and_says_so(check):
    found = check(Single, change=lambda output: output * 1.005)
    assert (found.code, found.decided_by, found.reference, found.rmse) == ("PASS", "cosine", "eager", None)
    assert "TypeError: float32 only" in found.notes[0]
    assert "weaker" in found.notes[0]
    assert check(Single, change=lambda output: output * 1.05).code == "FAIL"
    assert check(Single, change=torch.neg).code == "FAIL"


class Constant(Four):
    def forward(self, values):
        return torch.arange(16.0).view(4, 4) + 0 * super().forward(values)


def test_a_constant_is_no_evidence(check):
    """Neither weights nor inputs change it: so it can be wrong, and its being right says nothing."""
    found = check(Constant)
    assert (found.code, found.decided_by, found.control) == ("VERIFIER_SKIPPED", "unjudged", None)
    assert found.unjudged == ["output: constant"]
    assert "nothing could be judged" in found.notes[-1]
    assert check(Constant, change=lambda output: output + 1).code == "FAIL"


def test_nan_everywhere_is_no_pass(check):
    class Nan(Four):
        def forward(self, values):
            return super().forward(values) * math.nan

    found = check(Nan)
    assert (found.code, found.judged) == ("VERIFIER_SKIPPED", 0)
    assert found.unjudged == ["output: eager's values are not finite"]


def test_without_weights_the_control_disturbs_inputs(check):
    assert check(torch.nn.ReLU).control == "noticed"


def test_a_result_without_a_tensor_is_no_pass(check):
    class Empty(Four):
        def forward(self, values):
            return types.SimpleNamespace()

    found = check(Empty)
    assert (found.code, found.control) == ("VERIFIER_SKIPPED", None)
    assert "nothing to compare" in found.notes[-1]


def test_eager_in_disguise_is_noted(check):
    assert "it captured no graph" in check(invalid="it captured no graph").notes


def test_random_numbers_are_noted(check):
    class Draws(Four):
        def forward(self, values):
            return super().forward(values) + torch.rand(1)

    assert check(Draws).notes[0].startswith("the model draws random numbers")


class RandomMask(Four):
    def forward(self, values):
        result = super().forward(values)
        return result.masked_fill(torch.rand_like(result) > 0.5, float("-inf"))


class RandomRows(RandomMask):
    def forward(self, values):
        return super().forward(values).repeat(16, 1)[torch.rand(64) > 0.5]


class FiniteDraws(RandomMask):
    def forward(self, values):
        return torch.nn.Linear.forward(self, values) + torch.rand(1)


@pytest.mark.parametrize(
    ("make", "change", "code"),
    [
        (RandomMask, lambda result: result.roll(1, 0), "VERIFIER_SKIPPED"),
        (RandomMask, lambda result: result[1:], "FAIL"),
        (RandomRows, lambda result: result[1:], "VERIFIER_SKIPPED"),
        (FiniteDraws, lambda result: result * math.nan, "FAIL"),
    ],
)
def test_a_mask_of_random_numbers_is_no_wrong_answer(check, make, change, code):
    """Another stream has infinity in other places; a shape that no seed changes is wrong."""
    found = check(make, change)
    assert (found.code, found.decided_by in ("shape", "finite")) == (code, code == "FAIL")


def test_dropout_is_off_in_train(check):
    found = check(lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.9)), test="train")
    assert (found.code, found.notes) == ("PASS", [])


@pytest.mark.parametrize(
    ("asked", "fixed", "expected"), [(None, False, 128), (64, False, 64), (2, False, 2), (None, True, 128)]
)
def test_the_timed_batch_is_the_checked_one(check, asked, fixed, expected):
    suite = Suite(Four, size=128, fixed=fixed)
    found = check(suite=suite, batch_size=asked)
    assert (found.code, found.batch_size, found.timed_batch_size) == ("PASS", expected, expected)


def test_a_batch_size_is_not_ignored_in_silence(check):
    suite = Suite(Four, size=128, fixed=True)
    assert "batch size 64 was requested, but the model fixes it at 128" in check(suite=suite, batch_size=64).notes


def test_preset_peer_keeps_its_own_cap_and_says_so(check):
    suite = Suite(Four, size=128)
    found = check(suite=suite, preset="peer")
    assert (found.code, found.batch_size, found.timed_batch_size) == ("PASS (batch 16)", 16, 128)
    assert "preset peer compares 16 samples at most, as its runner does; 128 are timed" in found.notes
    assert check(suite=suite, preset="peer", batch_size=8).code == "PASS"


def test_half_precision_is_compared_with_float64_from_float32_weights(check):
    """The reference does not start from rounded weights, so eager's own error is that of bfloat16."""
    found = check(dtype="bfloat16")
    assert (found.code, found.reference) == ("PASS", "float64")
    assert 1e-4 < found.rmse_eager < 1e-1


def test_what_the_table_skips_is_not_run(check, monkeypatch):
    suite = Suite(Raises)
    monkeypatch.setattr(
        process.tables, "criteria", lambda *_: process.tables.Criteria(tolerance=1, most_samples=1, skip="why")
    )
    found = check(suite=suite)
    assert (found.code, found.decided_by, found.notes, suite.requests) == ("VERIFIER_SKIPPED", "table", ["why"], [])


def test_the_process_computes_exactly(check):
    torch.set_float32_matmul_precision("medium")
    check(matmul_precision="high")
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.are_deterministic_algorithms_enabled()


def test_iterations_that_are_all_the_same_are_computed_once_by_the_references(check):
    """Three of eager and of the backend, and one of each with other inputs; one again, of float64 and disturbed."""
    calls = []

    class Counted(Four):
        def forward(self, values):
            calls.append(values.dtype)
            return super().forward(values)

    assert check(Counted).code == "PASS"
    assert [calls.count(dtype) for dtype in (torch.float32, torch.float64)] == [10, 1]


def test_a_model_that_counts_its_calls_is_compared_in_each(check):
    class Counting(Four):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, values):
            self.calls += 1
            return super().forward(values) * self.calls

    assert check(Counting).code == "PASS"
    assert check(Counting, change=lambda output: output * 1.05).code == "FAIL"


class OwnSettings(Four):
    """Its code sets how exactly it is computed, and remembers how it was."""

    seen: ClassVar = []

    def __init__(self):
        super().__init__()
        torch.set_float32_matmul_precision("medium")
        torch.use_deterministic_algorithms(mode=False)

    def forward(self, values):
        self.seen.append((torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled()))
        return super().forward(values)


def test_the_models_own_code_cannot_change_how_exactly_it_is_verified(check, monkeypatch):
    monkeypatch.setattr(OwnSettings, "seen", [])
    assert check(OwnSettings).code == "PASS"
    assert set(OwnSettings.seen) == {("highest", True)}


@pytest.mark.parametrize(("folded", "code"), [(0, "FAIL"), (1, "PASS")])
def test_a_convolution_that_inductor_folds_widens_the_rule(check, monkeypatch, folded, code):
    """Inductor counts it when it compiles, which is after eager's copies have run."""
    counters = pytest.importorskip("torch._dynamo.utils").counters
    monkeypatch.setitem(counters, "inductor", Counter())

    class Folding(Distorting):
        def compile(self, step, config):
            counters["inductor"]["binary_folding_conv"] += folded
            return super().compile(step, config)

    def off(output):
        return output + 0.005 * torch.sign(torch.sin(torch.arange(output.numel()).view_as(output))).to(output.dtype)

    backend = Folding(off)
    found = check(lambda: torch.nn.Linear(4, 64), backend=backend, dtype="bfloat16", freezing=True)
    assert found.code == code, found


@pytest.mark.parametrize(("test", "spared"), [("eval", 1), ("train", 0)])
def test_eager_as_the_backend_is_not_run_once_more(check, test, spared):
    """In training, eager's own copies return predictions as well, so they are no copies of the timed step."""
    eager, other = Suite(lambda: torch.nn.Linear(4, 4)), Suite(lambda: torch.nn.Linear(4, 4))
    found = check(suite=eager, test=test, dynamo=None)
    assert (found.code, found.judged) == ("PASS", check(suite=other, test=test).judged)
    assert len(eager.requests) == len(other.requests) - spared
