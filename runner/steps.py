"""One iteration of a model: forward in eval; forward, loss, backward (and optimizer) in train."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.suites.base import Workload
    from store.record import ExperimentConfig

DTYPES = ("float32", "float16", "bfloat16", "amp")
_LEARNING_RATE = 0.01  # the peer's


def _autocast(config: ExperimentConfig, device: Any) -> Callable[[], Any]:
    import torch

    if config.dtype != "amp":
        return contextlib.nullcontext
    dtype = torch.float16 if device.type == "cuda" else torch.bfloat16
    return lambda: torch.autocast(device.type, dtype=dtype)


def cast(workload: Workload, dtype: str) -> None:
    """Convert the module and its floating inputs; `amp` and `float32` leave them as they are."""
    import torch
    from torch.utils import _pytree as pytree

    if dtype in ("float32", "amp"):
        return
    target = getattr(torch, dtype)
    workload.module = workload.module.to(target)

    def convert(tensor: Any) -> Any:
        return tensor.to(target) if tensor.is_floating_point() else tensor

    workload.args, workload.kwargs = pytree.tree_map_only(torch.Tensor, convert, (workload.args, workload.kwargs))


def move(workload: Workload, device: Any) -> None:
    """Bring the module and its inputs to the device; tied weights stay tied."""
    import torch
    from torch.utils import _pytree as pytree

    workload.module = workload.module.to(device)
    if hasattr(workload.module, "tie_weights"):
        # Moving to an XLA device gives each occurrence of a tied parameter a tensor of its own.
        workload.module.tie_weights()
    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.Tensor, lambda tensor: tensor.to(device), (workload.args, workload.kwargs)
    )


def fresh_inputs(workload: Workload, count: int) -> list[Any]:
    """Copy the inputs once per iteration, so that no iteration sees what another did to them."""
    import torch
    from torch.utils import _pytree as pytree

    inputs = (workload.args, workload.kwargs)
    return [pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), inputs) for _ in range(count)]


def make_step(workload: Workload, config: ExperimentConfig, device: Any) -> Callable[..., Any]:
    """Return the function of one iteration; what it returns has to be kept until it is materialised."""
    import torch

    module = workload.module
    autocast = _autocast(config, device)

    def evaluate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with autocast():
            return module(*args, **kwargs)

    if config.test == "eval":
        module.eval()
        return evaluate

    module.train()
    optimizer: Any = None
    if config.optimizer:
        optimizer = getattr(torch.optim, config.optimizer)(module.parameters(), lr=_LEARNING_RATE)

    def train(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module.zero_grad(set_to_none=True)
        with autocast():
            loss = workload.loss(module(*args, **kwargs))
        loss.backward()
        if optimizer is not None:
            optimizer.step()
        return loss

    return train
