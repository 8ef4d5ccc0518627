"""Build one operator in the benchmark process: the module that is called, and what it is called with."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import msgspec
import torch
from torch.utils import _pytree as pytree

from runner.accelerators.base import Timer
from runner.suites.base import BuildRequest, UnknownModelError, UnsupportedModelError
from runner.suites.operators import registry
from runner.suites.operators.document import DEFAULT_GENERATOR, Arguments
from runner.suites.operators.generate import Draw, find_generator
from runner.workload import Runtime, Workload
from store.identity import digest
from store.record import Operator, Test


class SchemaError(ValueError):
    """The schema of a build is no op of this torch."""


def aten(name: str, schema: str | None = None) -> Callable[..., Any]:
    """Return an op of aten.

    Args:
        name: as `aten::add`, or with its overload as `aten::add.Tensor`.
        schema: the whole schema; its overload is taken. None: torch chooses the overload by the arguments.

    Raises:
        SchemaError: this torch has no such op.
    """
    full = (schema or name).partition("(")[0].strip()
    if not full.startswith(registry.SCHEMA) or full.partition(".")[0] != name.partition(".")[0]:
        raise SchemaError(f"{name} is built from a schema of its own, not from {full!r}")
    base, _, overload = full.removeprefix(registry.SCHEMA).partition(".")
    try:
        packet = getattr(torch.ops.aten, base)
        if not overload and (schema is None or "default" not in packet.overloads()):
            return packet  # type: ignore[no-any-return]
        op = getattr(packet, overload or "default")
    except AttributeError:
        raise SchemaError(f"this torch ({torch.__version__}) has no {full}") from None
    return _positional(op)


def _positional(op: Any) -> Callable[..., Any]:
    """Return the op with its arguments by name taken as positional ones, too, as TorchScript's graphs have them."""
    declared = op._schema.arguments  # noqa: SLF001 - torch shows schemas nowhere else
    positional = sum(not argument.kwarg_only for argument in declared)
    names = [argument.name for argument in declared]

    def call(*args: Any, **kwargs: Any) -> Any:
        further = {names[place]: args[place] for place in range(positional, len(args))}
        return op(*args[:positional], **further, **kwargs)

    return call


class CallStep:
    """The step of an operator: the backend compiles the forward; autograd runs what it made of the backward."""

    def __init__(
        self,
        workload: Workload,
        test: Test,
        runtime: Runtime,
        compiled: Callable[[Callable[..., Any]], Any],
        timer: Timer | None = None,
        *,
        discrete: bool = False,
        clear_cache: bool = False,
    ) -> None:
        self._runtime, self._train, self._timer = runtime, test == "train", timer
        # A forward alone is timed by the block: synchronizing after each call would add to every time.
        self._apart = self._train or discrete or clear_cache
        self._clear_cache = clear_cache
        self._ones: dict[Any, Any] = {}
        phases = ("forward", "backward") if self._train else ("forward",) if self._apart else ()
        self._seconds: dict[str, list[float]] = {phase: [] for phase in phases}
        """Seconds of each call since they were last taken."""
        module = workload.module
        self._parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        _use_device(workload, runtime.device)
        self.input_bytes = _bytes(workload)

        # The target is called directly: passing through the module would cost a short call a tenth more.
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
        if self._timer is not None:
            self._timer.begin()
        result = work()
        if self._timer is not None:
            self._timer.end()
        self._finish()
        self._seconds[phase].append(time.perf_counter() - began if self._timer is None else self._timer.seconds())
        return result

    def uncut(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = self._forward(args, kwargs)
        if not self._train:
            return output
        outputs, seeds = self._seeds(output)
        return output, _backward(outputs, seeds, [*_leaves((args, kwargs)), *self._parameters])

    def empty(self) -> None:
        if not self._apart:
            self._runtime.after_iteration()
        for _ in self._seconds:
            self._finish()

    def take_seconds(self) -> dict[str, float]:
        """Return seconds of one call by phase, the median of the calls since this was asked last."""
        taken, self._seconds = self._seconds, {phase: [] for phase in self._seconds}
        # The median: one interrupted call would dominate the mean of a hundred short calls.
        return {phase: statistics.median(times) if times else 0.0 for phase, times in taken.items()}

    def _finish(self) -> None:
        self._runtime.after_iteration()
        self._runtime.after_block()

    def _seeds(self, output: Any) -> tuple[list[Any], list[Any]]:
        """Return the outputs that have a gradient, and ones for each, made once and outside of the timed phases."""
        outputs = differentiable(output)
        keys = [(number, tensor.shape, tensor.dtype) for number, tensor in enumerate(outputs)]
        if any(key not in self._ones for key in keys):
            self._ones |= {key: torch.ones_like(tensor) for key, tensor in zip(keys, outputs, strict=True)}
            self._finish()
        return outputs, [self._ones[key] for key in keys]


def differentiable(output: Any) -> list[Any]:
    """Return the tensors of an output that have a gradient.

    Raises:
        RuntimeError: there is none.
    """
    outputs = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs:
        raise RuntimeError("no output of it has a gradient: there is no backward; measure --test eval")
    return outputs


def sum_of_differentiable(output: Any) -> Any:
    """Return the sum of what a backward begins at: its gradients are those of the timed one, which begins with ones."""
    return sum((tensor.real if tensor.is_complex() else tensor).sum() for tensor in differentiable(output))


def _clear_l2_cache(runtime: Runtime) -> None:
    """Write over as much memory as the device's cache holds, and wait until that is done."""
    size = torch.cuda.get_device_properties(runtime.device).L2_cache_size
    torch.zeros(size, dtype=torch.int8, device=runtime.device)
    runtime.after_block()


def _backward(outputs: list[Any], seeds: list[Any], wanted: list[Any]) -> Any:
    return torch.autograd.grad(outputs, wanted, seeds, allow_unused=True)


def _bytes(workload: Workload) -> int:
    """Return bytes of what a call is given."""
    tensors = [
        tensor for tensor in pytree.tree_leaves((workload.args, workload.kwargs)) if isinstance(tensor, torch.Tensor)
    ]
    every = [*tensors, *workload.module.parameters(), *workload.module.buffers()]
    return sum(int(tensor.numel() * tensor.element_size()) for tensor in every)


def _leaves(inputs: Any) -> list[Any]:
    return [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def _use_device(workload: Workload, device: Any) -> None:
    """Let arguments that name a device name the one that is measured on, whatever the file was written for."""
    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.device, lambda _: device, (workload.args, workload.kwargs)
    )


LEAST_BLOCK_S = 0.001
"""Minimum seconds of a timed block: below a millisecond, clock and loop distort the result."""


def build(request: BuildRequest) -> Workload:
    """Return the workload of one case.

    Raises:
        UnknownModelError: the request holds no operator, or nobody knows it here.
        UnsupportedModelError: it has no backward, and train is asked for.
    """
    from runner.suites.building import seed_everything

    operator = request.operator
    if operator is None:
        raise UnknownModelError(f"Suite operators has no model {request.model_name!r} without a configuration.")
    op = registry.find_operator(operator.name)
    if op is None:
        raise UnknownModelError(f"{operator.name} is not registered here; name its module in ${registry.VARIABLE}.")
    if request.test == "train" and op.no_backward:
        raise UnsupportedModelError(f"{operator.name}: {op.no_backward}.")
    seed_everything(request.seed)
    draw = Draw(f"{request.seed}|{digest(operator)}")
    called = as_module(call_of(op, operator, draw))
    args, kwargs = data_of(operator.input_data_generator, operator.input, draw)
    if request.test == "eval":
        args, kwargs = without_gradients((args, kwargs))
    return Workload(
        module=called,
        args=tuple(args),
        kwargs=kwargs,
        batch_size=None,
        loss=sum_of_differentiable,
        loss_name="sum",
        notes=draw.drawn,
        own_step=partial(CallStep, discrete=operator.discrete, clear_cache=operator.clear_cache),
        shared_inputs=True,
        least_block_s=LEAST_BLOCK_S,
    )


def data_of(generator: str | None, arguments: dict[str, Any], draw: Draw) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return what a generator makes of the arguments of a build or an input."""
    generate = find_generator(generator or DEFAULT_GENERATOR)
    if generate is None:
        raise UnknownModelError(f"There is no data generator {generator!r} here; see ${registry.VARIABLE}.")
    call_inputs: tuple[Sequence[Any], dict[str, Any]] = generate(msgspec.convert(arguments, Arguments), draw)
    return call_inputs


def without_gradients(inputs: Any) -> Any:
    """Return the inputs as a forward alone sees them."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach(), inputs)


def call_of(op: registry.Op, operator: Operator, draw: Draw) -> Callable[..., Any]:
    """Return what is called with the inputs, its build step done."""
    args, kwargs = ([], {}) if operator.build is None else data_of(operator.build_data_generator, operator.build, draw)
    if op.kind == "schema":
        return aten(operator.name, *args)
    if op.kind == "method":
        return _method(operator.name.rpartition(".")[2])
    target = resolve(op.target) if isinstance(op.target, str) else op.target
    return target(*args, **kwargs) if op.kind == "module" else target


def resolve(dotted: str) -> Any:
    """Return what a dotted name stands for: attributes of the longest module that can be imported."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if error.name is not None and ".".join(parts[:length]).startswith(error.name):
                continue
            raise
        return reduce(getattr, parts[length:], module)
    raise ModuleNotFoundError(f"there is no {parts[0]}", name=parts[0])


def _method(name: str) -> Callable[..., Any]:
    def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(tensor, name)(*args, **kwargs)

    return call


def as_module(call: Callable[..., Any]) -> Any:
    """Return a module that makes the call, so that parameters move and cast with it."""

    class CalledModule(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # If it is a module, this registers it as a submodule.
            self.call = call

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.call(*args, **kwargs)

    return CalledModule()
