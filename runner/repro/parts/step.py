"""What scripts share: inputs, one iteration of a model on its device, how its backend compiles it, and the output."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, NoReturn

import torch
from torch.utils import _pytree as pytree

from runner.backends.steps import _follow, _shared_parameters
from runner.repro.parts.given import (
    AMP_DTYPE,
    COMPILE,
    DEVICE,
    DTYPE,
    DYNAMO,
    ENVIRONMENT,
    EXPECTED,
    ITERATIONS,
    OPTIMIZER,
    OVERRIDES,
    OWN_STEP,
    PACKAGES,
    PRECISION,
    PREDICTS,
    SEED,
    TEST,
)


def tensor(shape: tuple[int, ...], dtype: torch.dtype, low: float, high: float) -> Any:
    """Return uniform values between two bounds, both included for integers, in place of a tensor that a model had."""
    torch.manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        return (torch.rand(shape) * (high - low) + low).to(dtype)
    return torch.randint(int(low), int(high) + 1, shape).to(dtype)


def open_device() -> Any:
    """Return the device of the backend."""
    if DEVICE != "xla":
        return torch.device(DEVICE)
    import torch_xla

    return torch_xla.device()


def finish(device: Any) -> None:
    """Have the device do what it was asked for."""
    if device.type == "xla":
        import torch_xla

        torch_xla.sync(wait=True)
    elif device.type != "cpu":
        torch.accelerator.synchronize()


def cast(tree: Any, dtype: str) -> Any:
    """Return a structure with its floating tensors in a type; `amp` and `float32` leave them as they are."""
    if dtype in ("float32", "amp"):
        return tree
    target = getattr(torch, dtype)
    return pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.to(target) if leaf.is_floating_point() else leaf, tree)


def place(module: Any, dtype: str, device: Any, loss: Any) -> Any:
    """Return the module in its type on its device; shared parameters stay so, a step's optimizers have those there."""
    if dtype not in ("float32", "amp"):
        module = module.to(getattr(torch, dtype))
    shared, before = _shared_parameters(module), list(module.parameters())
    module = module.to(device)
    for (first_owner, first_name), *others in shared:
        for owner, name in others:
            setattr(owner, name, getattr(first_owner, first_name))
    for optimizer in getattr(loss, "optimizers", ()):
        _follow(optimizer, dict(zip(map(id, before), module.parameters(), strict=True)))
    return module


def make_step(module: Any, loss: Any, device: Any, dtype: str = DTYPE) -> Callable[..., Any]:
    """Return the function of one iteration; training returns the loss, or predictions where those are the fault."""
    autocast: Callable[[], Any] = contextlib.nullcontext
    if dtype == "amp":
        autocast = functools.partial(torch.autocast, device.type, dtype=getattr(torch, AMP_DTYPE))
    module.train(TEST == "train")
    if OWN_STEP:
        return loss  # type: ignore[no-any-return] # a step of the model's own

    def evaluate(args: Any, kwargs: Any) -> Any:
        with autocast():
            return module(*args, **kwargs)

    def forward(args: Any, kwargs: Any) -> Any:
        with autocast():
            prediction = module(*args, **kwargs)
            return prediction, loss(prediction)

    def around(captured: Callable[..., Any]) -> Callable[..., Any]:
        def train(args: Any, kwargs: Any) -> Any:
            module.zero_grad(set_to_none=True)
            prediction, value = captured(args, kwargs)
            value.backward()
            if optimizer is not None:
                optimizer.step()
            return (prediction, value) if PREDICTS else value

        return train

    train = around(forward)
    train.one_graph = lambda compile_: around(compile_(forward))  # type: ignore[attr-defined]

    optimizer = None
    if TEST == "train" and OPTIMIZER:
        optimizer = getattr(torch.optim, OPTIMIZER)(module.parameters(), lr=0.01)
    return train if TEST == "train" else evaluate


def set_switches() -> None:
    """Set the compilers' settings."""
    torch.set_float32_matmul_precision(PRECISION)
    for name, value in OVERRIDES.items():
        room, _, key = name.partition(".")
        *path, last = key.split(".")
        owner = functools.reduce(getattr, path, importlib.import_module(f"torch._{room}.config"))
        setattr(owner, last, value)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as the backend runs it: through dynamo, or as it is."""
    set_switches()
    if not DYNAMO:
        return function
    compile_ = functools.partial(torch.compile, backend=DYNAMO, **COMPILE)
    # No graph holds the backward() of a step: in one graph are its forward and its loss.
    one_graph = getattr(function, "one_graph", None) if COMPILE.get("fullgraph") else None
    return one_graph(compile_) if one_graph else compile_(function)  # type: ignore[no-any-return]


def run_model(built: Any) -> None:
    """Run what `build` returned for some iterations on the backend."""
    module, args, kwargs, loss = built
    device = open_device()
    module = place(module, DTYPE, device, loss)
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.to(device), cast((args, kwargs), DTYPE))
    step = compiled(make_step(module, loss, device))
    with torch.set_grad_enabled(TEST == "train"):
        for _ in range(ITERATIONS):
            torch.manual_seed(SEED)
            # What the step returns has to live until the device has computed it.
            output = step(args, kwargs)
            finish(device)
            del output


# What every script says: versions first, then whether the fault is shown, which is its exit code, too.


_LONGEST = 2000


def shown(why: str) -> int:
    """Say that the fault is there."""
    print(f"SHOWN: {why}")
    return 0


def not_shown(why: str) -> int:
    """Say that it is not."""
    print(f"NOT SHOWN: {why}")
    return 1


def is_expected(message: str) -> bool:
    """Tell whether a message holds the expected texts in their order."""
    place = 0
    for text in EXPECTED:
        place = message.find(text, place)
        if place < 0:
            return False
        place += len(text)
    return True


def judge_message(message: str) -> int:
    """Print a message and say whether it is the expected one."""
    print(message[:_LONGEST])
    return shown("the message is the expected one") if is_expected(message) else not_shown("another message")


def run(main: Callable[[], int]) -> NoReturn:
    """Print versions, do what shows the fault, end with its answer."""
    os.environ.update(ENVIRONMENT)
    print(f"VERSIONS: python {platform.python_version()}", end="")
    for name in PACKAGES:
        try:
            print(f", {name} {metadata.version(name)}", end="")
        except metadata.PackageNotFoundError:
            print(f", {name} of an unknown version", end="")
    print(flush=True)
    sys.exit(main())
