"""One call of an operator as it is timed: forward, cut; in train forward, cut, backward, cut, each waited for."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.workload import Runtime, Workload
    from store.record import Test


class CallStep:
    """The step of an operator: the backend compiles the forward; autograd runs what it made of the backward."""

    def __init__(
        self,
        workload: Workload,
        test: Test,
        runtime: Runtime,
        compiled: Callable[[Callable[..., Any]], Any],
        *,
        discrete: bool = False,
        clear_cache: bool = False,
    ) -> None:
        self._runtime, self._train = runtime, test == "train"
        # Alone, a forward is timed by the block: a wait after each call would be part of every time.
        self._apart = self._train or discrete or clear_cache
        self._clear_cache = clear_cache
        self._ones: dict[Any, Any] = {}
        phases = ("forward", "backward") if self._train else ("forward",) if self._apart else ()
        self._seconds: dict[str, list[float]] = {phase: [] for phase in phases}
        """Seconds of each call since they were last taken."""
        module = workload.module
        self._parameters = [each for each in module.parameters() if each.requires_grad]
        _use_device(workload, runtime.device)
        self.input_bytes = _bytes(workload)

        # What the module calls: a call of a few microseconds would pay a tenth more for passing through it.
        target = module.call

        def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return target(*args, **kwargs)

        self._forward = compiled(call)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the output; in train with the gradients. All of it has to be kept until the device has finished."""
        if not self._apart:
            output = self._forward(args, kwargs)
            self._runtime.after_iteration()
            return output
        output = self._timed("forward", lambda: self._forward(args, kwargs))
        if not self._train:
            return output
        outputs, seeds = self._seeds(output)
        wanted = [*_leaves((args, kwargs)), *self._parameters]
        return output, self._timed("backward", lambda: _backward(outputs, seeds, wanted))

    def _timed(self, phase: str, work: Callable[[], Any]) -> Any:
        """Do one phase and wait for it; only that counts."""
        if self._clear_cache:
            _clear_l2_cache(self._runtime)
        began = time.perf_counter()
        result = work()
        self._finish()
        self._seconds[phase].append(time.perf_counter() - began)
        return result

    def uncut(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a call returns, with nothing cut."""
        output = self._forward(args, kwargs)
        if not self._train:
            return output
        outputs, seeds = self._seeds(output)
        return output, _backward(outputs, seeds, [*_leaves((args, kwargs)), *self._parameters])

    def empty(self) -> None:
        """Cut and wait as a call does, with nothing to compute."""
        if not self._apart:
            self._runtime.after_iteration()
        for _ in self._seconds:
            self._finish()

    def take_seconds(self) -> dict[str, float]:
        """Return seconds of one call by phase, the median of the calls since this was asked last."""
        taken, self._seconds = self._seconds, {phase: [] for phase in self._seconds}
        # The median: a mean of a hundred short calls is that of the one that something interrupted.
        return {phase: statistics.median(each) if each else 0.0 for phase, each in taken.items()}

    def _finish(self) -> None:
        self._runtime.after_iteration()
        self._runtime.after_block()

    def _seeds(self, output: Any) -> tuple[list[Any], list[Any]]:
        """Return the outputs that have a gradient, and ones for each, made once and outside of the timed phases."""
        import torch
        from torch.utils import _pytree as pytree

        outputs = [each for each in pytree.tree_leaves(output) if isinstance(each, torch.Tensor) and each.requires_grad]
        if not outputs:
            raise RuntimeError("no output of it has a gradient: there is no backward; measure --test eval")
        keys = [(number, each.shape, each.dtype) for number, each in enumerate(outputs)]
        if any(key not in self._ones for key in keys):
            self._ones |= {key: torch.ones_like(each) for key, each in zip(keys, outputs, strict=True)}
            self._finish()
        return outputs, [self._ones[key] for key in keys]


def _clear_l2_cache(runtime: Runtime) -> None:
    """Write over as much memory as the device's cache holds, and wait until that is done."""
    import torch

    size = torch.cuda.get_device_properties(runtime.device).L2_cache_size
    torch.zeros(size, dtype=torch.int8, device=runtime.device)
    runtime.after_block()


def _backward(outputs: list[Any], seeds: list[Any], wanted: list[Any]) -> Any:
    import torch

    return torch.autograd.grad(outputs, wanted, seeds, allow_unused=True)


def _bytes(workload: Workload) -> int:
    """Return bytes of what a call is given."""
    import torch
    from torch.utils import _pytree as pytree

    given = [each for each in pytree.tree_leaves((workload.args, workload.kwargs)) if isinstance(each, torch.Tensor)]
    every = [*given, *workload.module.parameters(), *workload.module.buffers()]
    return sum(int(each.numel() * each.element_size()) for each in every)


def _leaves(inputs: Any) -> list[Any]:
    import torch
    from torch.utils import _pytree as pytree

    return [each for each in pytree.tree_leaves(inputs) if isinstance(each, torch.Tensor) and each.requires_grad]


def _use_device(workload: Workload, device: Any) -> None:
    """Let arguments that name a device name the one that is measured on, whatever the file was written for."""
    import torch
    from torch.utils import _pytree as pytree

    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.device, lambda _: device, (workload.args, workload.kwargs)
    )
