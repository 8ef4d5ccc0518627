"""The timing proof of backends that are timed before their work is done, and of honest ones, all with real torch."""

import inspect
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from runner_makers import config, settings

from runner.backends.host import Eager, HostRuntime
from runner.messages import Load
from runner.process import timed_step
from runner.proof import process
from runner.proof.process import prove
from runner.workload import Workload
from store.record import Proof, Test

torch = pytest.importorskip("torch")
HONEST = timed_step.backend_of


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    precision, tf32, threads = (
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.allow_tf32,
        torch.get_num_threads(),
    )
    yield
    torch.set_float32_matmul_precision(precision)
    torch.backends.cudnn.allow_tf32 = tf32
    torch.set_num_threads(threads)


@pytest.fixture
def worker() -> Iterator[ThreadPoolExecutor]:
    """One thread that does the work in order, as a device does."""
    with ThreadPoolExecutor(1) as made:
        yield made


class Lying(Eager):
    """Under the name of inductor: eager whose step and device a test changes."""

    def __init__(self, change: Callable[[Any], Any], device: Callable[..., HostRuntime] = HostRuntime) -> None:
        self.change, self.device = change, device

    def open(self, config: Any, device_index: int | None = None) -> HostRuntime:
        return self.device(config.accelerator, device_index)

    def compile(self, step: Callable[..., Any], config: Any) -> Callable[..., Any]:
        del config
        return self.change(step)  # type: ignore[no-any-return]


class Forgetful(HostRuntime):
    """A device that is not waited for: only who reads an output waits for it."""

    def to_host(self, output: Any) -> Any:
        ready = output.result() if isinstance(output, Future) else output() if callable(output) else output
        return super().to_host(ready)


class Keeping(HostRuntime):
    """A device that remembers the first weight that was brought to it."""

    weight: Any

    def place(self, workload: Workload) -> None:
        super().place(workload)
        Keeping.weight = next(workload.module.parameters())


def proof(monkeypatch: pytest.MonkeyPatch, backend: Eager, test: Test = "eval") -> Proof:
    """Prove a backend that stands in for inductor; eager stays what it is."""

    def chosen(xla: str | None, dynamo: str | None, *more: Any) -> Any:
        return backend if dynamo else HONEST(xla, dynamo, *more)

    monkeypatch.setattr(timed_step, "backend_of", chosen)
    # A lie needs no long look, and no large work.
    monkeypatch.setattr(process, "BATCH_OF_A_THREAD", 256)
    monkeypatch.setattr(process, "REPETITIONS", 2)
    monkeypatch.setattr(process, "LONGEST", 4)
    load = Load(
        config=config("inductor", test=test),
        settings=settings(),
        batch_size=None,
        torchbench_dir=None,
        requested_at=0.0,
    )
    return prove(load)


def eagerly(step: Callable[..., Any]) -> Callable[..., Any]:
    return step


@pytest.mark.parametrize("test", [pytest.param("eval", marks=pytest.mark.thorough), "train"])
def test_outputs_of_a_backend_that_does_its_work_within_its_time_are_there(
    monkeypatch: pytest.MonkeyPatch, test: Test
) -> None:
    """What its times say beside other programs is no matter here."""
    found = proof(monkeypatch, Lying(eagerly), test)
    assert found.outputs_equal, found
    assert found.unfinished_s is not None
    assert found.reported_s is not None
    assert found.unfinished_s < found.reported_s


def test_a_step_whose_work_goes_on_in_a_thread_is_caught(
    monkeypatch: pytest.MonkeyPatch, worker: ThreadPoolExecutor
) -> None:
    """It returns a tensor that is filled later: when the clock stops, it holds something else."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        def later(args: Any, kwargs: Any) -> Any:
            output = torch.empty(args[0].shape)

            def work() -> None:
                with torch.no_grad():
                    output.copy_(step(args, kwargs))

            worker.submit(work)
            return output

        return later

    found = proof(monkeypatch, Lying(change))
    assert (found.verdict, found.outputs_equal) == ("failed", False)
    assert found.reason == (
        "when the clock stops, the output of the last iteration differs from eager's: its work is not done or wrong"
    )


def test_a_device_that_is_not_waited_for_is_caught(monkeypatch: pytest.MonkeyPatch, worker: ThreadPoolExecutor) -> None:
    """Its outputs are right for whoever reads them; their time is outside of the clock."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        def launch(args: Any, kwargs: Any) -> Any:
            def work() -> Any:
                with torch.no_grad():
                    return step(args, kwargs)

            return worker.submit(work)

        return launch

    found = proof(monkeypatch, Lying(change, Forgetful))
    assert (found.verdict, found.outputs_equal) == ("failed", True)
    assert found.unfinished_s is not None
    assert found.reported_s is not None
    assert found.unfinished_s > found.reported_s


def test_outputs_that_are_computed_when_they_are_read_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody reads is never computed, so the times of any number of iterations lie on a line."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        def defer(args: Any, kwargs: Any) -> Any:
            known: list[Any] = []

            def compute() -> Any:
                if not known:
                    known.append(step(args, kwargs).detach())
                return known[0]

            return compute

        return defer

    found = proof(monkeypatch, Lying(change, Forgetful))
    assert (found.verdict, found.outputs_equal) == ("failed", True)


def test_a_step_that_returns_what_it_returned_before_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last iteration alone has other inputs, so its output cannot be an earlier one."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        known: list[Any] = []

        def remembered(args: Any, kwargs: Any) -> Any:
            if not known:
                known.append(step(args, kwargs))
            return known[0]

        return remembered

    assert proof(monkeypatch, Lying(change)).outputs_equal is False


def is_last(args: Any) -> bool:
    """Look into the frame of the clock, as no backend can: are these the inputs of the last iteration?"""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "_time":
        frame = frame.f_back
    return frame is not None and frame.f_locals["inputs"][-1][0] is args


def test_a_step_that_is_right_in_the_last_iteration_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block has one iteration, so only passes have others."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda args, kwargs: step(args, kwargs) * (1 if is_last(args) else 2)

    found = proof(monkeypatch, Lying(change))
    assert found.outputs_equal is False
    assert "the output of a timed iteration differs" in str(found.reason)


def test_a_step_that_is_wrong_as_results_are_timed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks have the same inputs, and no pass has those."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        first: list[Any] = []

        def wrong(args: Any, kwargs: Any) -> Any:
            first[:] = first or [args[0].clone()]
            return step(args, kwargs) * (2 if torch.equal(args[0], first[0]) else 1)

        return wrong

    assert proof(monkeypatch, Lying(change)).outputs_equal is False


def test_outputs_without_values_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is computed on the device `meta`, and reading it raises an exception."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda args, kwargs: step(args, kwargs).to("meta")

    assert proof(monkeypatch, Lying(change)).outputs_equal is False


def test_a_step_that_looks_up_earlier_results_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the values of its inputs, which are the same in all iterations of a result, and in no two of a pass."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        known: dict[Any, Any] = {}

        def remembered(args: Any, kwargs: Any) -> Any:
            if (of := args[0].numpy().tobytes()) not in known:
                known[of] = step(args, kwargs)
            return known[of]

        return remembered

    found = proof(monkeypatch, Lying(change))
    assert found.verdict == "failed"
    assert str(found.reason).endswith("some work is not timed")


def test_gradients_that_come_later_are_caught(monkeypatch: pytest.MonkeyPatch, worker: ThreadPoolExecutor) -> None:
    """In train the loss alone proves nothing about the backward pass."""

    def change(step: Callable[..., Any]) -> Callable[..., Any]:
        def later(args: Any, kwargs: Any) -> Any:
            loss, weight = step(args, kwargs), Keeping.weight
            gradient, weight.grad = weight.grad, torch.zeros_like(weight)
            into = weight.grad

            def work() -> None:
                time.sleep(0.01)
                into.copy_(gradient)

            worker.submit(work)
            return loss

        return later

    found = proof(monkeypatch, Lying(change, Keeping), "train")
    assert found.verdict == "failed"
    assert found.reason is not None
    assert "the gradient of 0.weight" in found.reason
