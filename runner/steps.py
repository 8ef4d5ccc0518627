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
    """Bring the module, its inputs and a module loss to the device; shared parameters stay shared."""
    import torch
    from torch.utils import _pytree as pytree

    shared = _shared_parameters(workload.module)
    workload.module = workload.module.to(device)
    # Moving to an XLA device gives each occurrence of a shared parameter a tensor of its own: another model.
    for (first_owner, first_name), *others in shared:
        for owner, name in others:
            setattr(owner, name, getattr(first_owner, first_name))
    if isinstance(workload.loss, torch.nn.Module):
        workload.loss = workload.loss.to(device)
    workload.args, workload.kwargs = pytree.tree_map_only(
        torch.Tensor, lambda tensor: tensor.to(device), (workload.args, workload.kwargs)
    )


def _shared_parameters(module: Any) -> list[list[tuple[Any, str]]]:
    """Return the places of each parameter that stands in more than one, as (owner, name)."""
    places: dict[int, list[tuple[Any, str]]] = {}
    for owner in module.modules():
        for name, parameter in owner.named_parameters(recurse=False, remove_duplicate=False):
            places.setdefault(id(parameter), []).append((owner, name))
    return [found for found in places.values() if len(found) > 1]


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
