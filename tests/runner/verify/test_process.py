"""The order of a verification and its codes, with eager's backend and one that a test distorts."""

from __future__ import annotations

import math
import types

import pytest
from runner_makers import config, settings

from runner.backends.eager import Eager
from runner.messages import Load
from runner.suites.base import Workload
from runner.verify import copies, process, verify

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _as_before():
    """Put the process's settings back."""
    cudnn, precision = torch.backends.cudnn, torch.get_float32_matmul_precision()
    flags = (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32)
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision(precision)
    cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = flags


class Suite:
    """Builds what a test gives; counts, and keeps the requests."""

    def __init__(self, make, size=4, *, fixed=False):
        self.make, self.size, self.fixed, self.requests, self.modules = make, size, fixed, [], []

    def build(self, request):
        torch.manual_seed(request.seed)
        self.requests.append(request)
        size = self.size if self.fixed else request.batch_size or self.size
        module = self.make()
        self.modules.append(module)
        inputs = torch.rand(size, 4)
        return Workload(
            module=module, args=(inputs,), kwargs={}, batch_size=size, loss=lambda output: output.sum(), loss_name="sum"
        )


class Distorting(Eager):
    """Eager whose step's result a test changes."""

    def __init__(self, change=None, invalid=None):
        self.change, self.why = change, invalid

    def compile(self, step, config):
        return step if self.change is None else lambda args, kwargs: self.change(step(args, kwargs))

    def invalid(self):
        return self.why


@pytest.fixture
def check(monkeypatch):
    """Verify a module under a backend; the pair (None, None) is eager, every other one the backend given."""

    def run(make=lambda: torch.nn.Linear(4, 4), change=None, suite=None, invalid=None, batch_size=None, **changes):
        suite = suite or Suite(make)
        backends = {None: Eager(), "inductor": Distorting(change, invalid)}
        chosen = {name: changes.pop(name) for name in list(changes) if name in settings().__struct_fields__}
        of = config("inductor", "m", suite_name="of_a_test", **changes)
        monkeypatch.setattr(copies, "get_suite", lambda name: suite)
        for module in (copies, process):
            monkeypatch.setattr(module, "backend_of", lambda xla, dynamo, xla2=None: backends[dynamo])
        return verify(
            Load(config=of, settings=settings(**chosen), batch_size=batch_size, torchbench_dir=None, requested_at=0.0)
        )

    return run


def test_a_right_backend_passes_and_the_control_is_noticed(check):
    found = check()
    assert (found.code, found.control, found.reference, found.tensors) == ("PASS", "noticed", "float64", 1)
    assert (found.decided_by, found.max_abs_error, found.notes, found.error) == ("bitwise", 0.0, [], None)
    assert found.rmse == found.rmse_eager > 0
    assert found.seconds > 0


def test_each_run_has_a_module_of_its_own_on_the_same_weights(check):
    """Twice eager, float64, the backend, the control."""
    suite = Suite(lambda: torch.nn.Linear(4, 4), size=1)
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


def test_the_last_iteration_is_compared(check):
    """A module that counts its calls is right in the first one only."""
    calls = []

    def later(output):
        calls.append(1)
        return output + (len(calls) > 2)

    assert check(change=later, verify_iterations=2).code == "PASS"
    calls.clear()
    found = check(change=later, verify_iterations=3)
    assert (found.code, found.iterations) == ("FAIL", 3)


def test_train_compares_loss_gradients_and_buffers(check):
    def make():
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))

    found = check(make, test="train")
    assert (found.code, found.tensors) == ("PASS", 8)


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


def test_with_an_optimizer_parameters_are_compared(check):
    suite = Suite(lambda: torch.nn.Linear(4, 4))

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


class Raises(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

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


class Single(torch.nn.Linear):
    """Knows float32 only."""

    def __init__(self):
        super().__init__(4, 4)

    def forward(self, values):
        if values.dtype == torch.float64:
            raise TypeError("float32 only")
        return super().forward(values)


def test_without_float64_the_check_is_weaker_and_says_so(check):
    found = check(Single, change=lambda output: output * 1.5)
    assert (found.code, found.decided_by, found.reference, found.rmse) == ("PASS", "cosine", "eager", None)
    assert "TypeError: float32 only" in found.notes[0]
    assert "weaker" in found.notes[0]
    assert check(Single, change=torch.neg).code == "FAIL"


class Constant(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, values):
        return values * 2 + 0 * super().forward(values)


def test_a_check_that_notices_nothing_is_vacuous(check):
    found = check(Constant)
    assert (found.code, found.control) == ("PASS", "vacuous")
    assert "PASS is vacuous: results of a copy with disturbed weights pass the same check (equal)" in found.notes


def test_nan_everywhere_is_vacuous(check):
    class Nan(torch.nn.Linear):
        def __init__(self):
            super().__init__(4, 4)

        def forward(self, values):
            return super().forward(values) * math.nan

    found = check(Nan)
    assert (found.code, found.control) == ("PASS", "vacuous")
    assert "output: eager's values are not all finite" in found.notes


def test_without_weights_the_control_disturbs_inputs(check):
    assert check(torch.nn.ReLU).control == "noticed"


def test_a_result_without_a_tensor_is_no_pass(check):
    class Empty(torch.nn.Linear):
        def __init__(self):
            super().__init__(4, 4)

        def forward(self, values):
            return types.SimpleNamespace()

    found = check(Empty)
    assert (found.code, found.control) == ("VERIFIER_SKIPPED", None)
    assert "nothing to compare" in found.notes[-1]


def test_eager_in_disguise_is_noted(check):
    assert "it captured no graph" in check(invalid="it captured no graph").notes


def test_random_numbers_are_noted(check):
    class Draws(torch.nn.Linear):
        def __init__(self):
            super().__init__(4, 4)

        def forward(self, values):
            return super().forward(values) + torch.rand(1)

    assert check(Draws).notes[0].startswith("the model draws random numbers")


def test_dropout_is_off_in_train(check):
    found = check(lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.9)), test="train")
    assert (found.code, found.notes) == ("PASS", [])


@pytest.mark.parametrize(
    ("asked", "fixed", "expected"), [(None, False, 16), (64, False, 16), (2, False, 2), (None, True, 128)]
)
def test_batch_size(check, asked, fixed, expected):
    """At most what the table says; a suite that keeps its own size is taken as it is."""
    suite = Suite(lambda: torch.nn.Linear(4, 4), size=128, fixed=fixed)
    assert check(suite=suite, batch_size=asked).batch_size == expected


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
