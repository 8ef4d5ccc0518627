"""Build one operator in the measuring process: the module that is called, and what it is called with."""

from __future__ import annotations

import importlib
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import msgspec

from runner.suites.errors import UnknownModelError, UnsupportedModelError
from runner.suites.operators import lookup, registry
from runner.suites.operators.arguments import Arguments
from runner.suites.operators.document import DEFAULT_GENERATOR
from runner.suites.operators.generate import Draw
from runner.workload import Workload
from store.identity import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.suites.base import BuildRequest
    from store.record import Operator

LEAST_BLOCK_S = 0.001
"""A timed block lasts this long at least: below a millisecond the clock and the loop are part of the number."""


def build(request: BuildRequest) -> Workload:
    """Return the workload of one case.

    Raises:
        UnknownModelError: the request holds no operator, or nobody knows it here.
        UnsupportedModelError: it has no backward, and train is asked for.
    """
    from runner.suites.losses import sum_of_outputs
    from runner.suites.operators.step import CallStep
    from runner.suites.seeding import seed_everything

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
        loss=sum_of_outputs,
        loss_name="sum",
        notes=draw.drawn,
        own_step=partial(CallStep, discrete=operator.discrete, clear_cache=operator.clear_cache),
        shared_inputs=True,
        least_block_s=LEAST_BLOCK_S,
    )


def data_of(generator: str | None, arguments: dict[str, Any], draw: Draw) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return what a generator makes of the arguments of a build or an input."""
    generate = lookup.find_generator(generator or DEFAULT_GENERATOR)
    if generate is None:
        raise UnknownModelError(f"There is no data generator {generator!r} here; see ${registry.VARIABLE}.")
    made: tuple[Sequence[Any], dict[str, Any]] = generate(msgspec.convert(arguments, Arguments), draw)
    return made


def without_gradients(inputs: Any) -> Any:
    """Return the inputs as a forward alone sees them."""
    import torch
    from torch.utils import _pytree as pytree

    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach(), inputs)


def call_of(op: registry.Op, operator: Operator, draw: Draw) -> Callable[..., Any]:
    """Return what is called with the inputs, its build step done."""
    args, kwargs = ([], {}) if operator.build is None else data_of(operator.build_data_generator, operator.build, draw)
    if op.kind == "schema":
        from runner.suites.operators.schema import aten

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
    import torch

    class Call(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # A submodule where it is one.
            self.call = call

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.call(*args, **kwargs)

    return Call()
