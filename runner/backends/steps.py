"""One iteration of a model: forward in eval; forward, loss, backward (and optimizer) in train."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from runner.accelerators import ACCELERATORS
from runner.accelerators.base import Timer
from runner.workload import Runtime, Workload
from store.record import ExperimentConfig

DTYPES = ("float32", "float16", "bfloat16", "amp")
_LEARNING_RATE = 0.01  # the peer's


def precision(config: ExperimentConfig) -> str:
    """Return how exactly float32 products are computed; without TensorFloat-32 exactly, whatever was chosen."""
    return "highest" if config.disable_tf32 else config.matmul_precision


def set_precision(config: ExperimentConfig) -> dict[str, str]:
    """Set how exactly float32 products and convolutions are computed in this process; return what is in effect."""
    import torch

    wanted = precision(config)
    # PyTorch/XLA's word for the fastest; torch calls it medium.
    torch.set_float32_matmul_precision("medium" if wanted == "default" else wanted)
    if config.disable_tf32:
        torch.backends.cudnn.allow_tf32 = False
    return {
        "torch.float32_matmul_precision": torch.get_float32_matmul_precision(),
        "torch.backends.cuda.matmul.allow_tf32": str(torch.backends.cuda.matmul.allow_tf32),
        "torch.backends.cudnn.allow_tf32": str(torch.backends.cudnn.allow_tf32),
    }


def _autocast(config: ExperimentConfig, device: Any) -> Callable[[], Any]:
    import torch

    if config.dtype != "amp":
        return contextlib.nullcontext
    dtype = getattr(torch, config.amp_dtype or ACCELERATORS[config.accelerator].amp_dtype)
    return lambda: torch.autocast(device.type, dtype=dtype)


def cast(workload: Workload, config: ExperimentConfig) -> None:
    """Convert the module and its floating inputs; `amp` and `float32` leave them as they are.

    So are the tensors of an operator those of its call, but for the float64 copy that verification compares with.
    """
    import torch
    from torch.utils import _pytree as pytree

    dtype = config.dtype
    if dtype in ("float32", "amp") or (config.operator is not None and dtype != "float64"):
        return
    target = getattr(torch, dtype)
    workload.module = workload.module.to(target)

    def convert(tensor: Any) -> Any:
        return tensor.to(target) if tensor.is_floating_point() else tensor

    workload.args, workload.kwargs = pytree.tree_map_only(torch.Tensor, convert, (workload.args, workload.kwargs))
    if isinstance(workload.loss, torch.nn.Module):
        workload.loss = workload.loss.to(target)


def move(workload: Workload, device: Any) -> None:
    """Bring the module, its inputs and a module loss to the device; shared parameters stay shared."""
    import torch

    shared = _shared_parameters(workload.module)
    before = list(workload.module.parameters()) if workload.optimizers else []
    workload.module = workload.module.to(device)
    # Moving to an XLA device gives each occurrence of a shared parameter a tensor of its own: another model.
    for (first_owner, first_name), *others in shared:
        for owner, name in others:
            setattr(owner, name, getattr(first_owner, first_name))
    for optimizer in workload.optimizers:
        _follow(optimizer, dict(zip(map(id, before), workload.module.parameters(), strict=True)))
    if isinstance(workload.loss, torch.nn.Module):
        workload.loss = workload.loss.to(device)
    workload.args, workload.kwargs = moved((workload.args, workload.kwargs), device)


def _follow(optimizer: Any, now: Mapping[int, Any]) -> None:
    """Give an optimizer the parameters that a module has after its move: on an XLA device they are others."""
    for group in optimizer.param_groups:
        group["params"] = [now.get(id(parameter), parameter) for parameter in group["params"]]


def moved(tree: Any, device: Any) -> Any:
    """Return the structure with its tensors on the device."""
    import torch
    from torch.utils import _pytree as pytree

    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), tree)


def _shared_parameters(module: Any) -> list[list[tuple[Any, str]]]:
    """Return the places of each parameter that is in more than one, as (owner, name)."""
    places: dict[int, list[tuple[Any, str]]] = {}
    for owner in module.modules():
        for name, parameter in owner.named_parameters(recurse=False, remove_duplicate=False):
            places.setdefault(id(parameter), []).append((owner, name))
    return [owners for owners in places.values() if len(owners) > 1]


def fresh_inputs(workload: Workload, count: int) -> list[Any]:
    """Copy the inputs once per iteration, so that no iteration sees what another did to them."""
    import torch
    from torch.utils import _pytree as pytree

    inputs = (workload.args, workload.kwargs)
    return [pytree.tree_map_only(torch.Tensor, copied, inputs) for _ in range(count)]


def copied(tensor: Any) -> Any:
    """Return a copy that is a leaf, and has a gradient where the tensor has one."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def make_step(workload: Workload, config: ExperimentConfig, device: Any) -> Callable[..., Any]:
    """Return the function of one iteration; what it returns has to be kept until it is materialised."""
    module = workload.module
    autocast = _autocast(config, device)

    def evaluate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with autocast():
            return module(*args, **kwargs)

    if config.test == "eval":
        module.eval()
        return _of_module(evaluate, module)

    module.train()
    if (own := workload.train_step) is not None:
        # It makes its predictions inside, so there are none to return.
        with_gradients = lambda args, kwargs: (None, own(args, kwargs), _gradients(module))  # noqa: E731 - one of two
        return _of_module(with_gradients if config.collect_full_output else own, module)
    optimizer = _optimizer(module, config)

    def finish(prediction: Any, loss: Any) -> Any:
        loss.backward()
        if optimizer is not None:
            optimizer.step()
        return (prediction, loss, _gradients(module)) if config.collect_full_output else loss

    def train(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module.zero_grad(set_to_none=True)
        with autocast():
            prediction = module(*args, **kwargs)
            loss = workload.loss(prediction)
        return finish(prediction, loss)

    def forward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with autocast():
            prediction = module(*args, **kwargs)
            return prediction, workload.loss(prediction)

    def around(captured: Callable[..., Any]) -> Callable[..., Any]:
        def train_around(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            module.zero_grad(set_to_none=True)
            return finish(*captured(args, kwargs))

        return train_around

    step: Any = _of_module(train, module)
    step.one_graph = lambda compiled: around(compiled(forward))
    return step  # type: ignore[no-any-return]


def _optimizer(module: Any, config: ExperimentConfig) -> Any:
    import torch

    return getattr(torch.optim, config.optimizer)(module.parameters(), lr=_LEARNING_RATE) if config.optimizer else None


def _of_module(step: Callable[..., Any], module: Any) -> Callable[..., Any]:
    """Name the module that a step calls, for backends that compile it instead of the step."""
    step.module = module  # type: ignore[attr-defined]
    return step


def _gradients(module: Any) -> dict[str, Any]:
    return {name: weight.grad for name, weight in module.named_parameters() if weight.grad is not None}


def with_transfers(step: Callable[..., Any], runtime: Runtime) -> Callable[..., Any]:
    """Return the step with the way of its inputs to the device and of its result to the host."""

    def transferring(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = runtime.to_device((args, kwargs))
        output = step(args, kwargs)
        # Cut first: read one by one, each lazy tensor would be computed by a program of its own.
        runtime.after_iteration()
        return runtime.to_host(output)

    return transferring


def between_events(step: Callable[..., Any], timer: Timer) -> Callable[..., Any]:
    """Return the step with a mark of the device's own before and after it."""

    def marked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        timer.begin()
        output = step(args, kwargs)
        timer.end()
        return output

    return marked


_SETTINGS: dict[str, dict[str, bool]] = {
    "torch._inductor.config": {
        "fx_graph_cache": True,
        "fx_graph_remote_cache": False,
        "autotune_remote_cache": False,
        "bundled_autotune_remote_cache": False,
        "force_disable_caches": False,
    },
    "torch._functorch.config": {"enable_autograd_cache": True, "enable_remote_autograd_cache": False},
    "torch._dynamo.config": {"automatic_dynamic_remote_pgo": False},
}
"""The same for cold and warm, whatever the user's environment says; a torch without one of them lacks that cache."""


def on_disk_only() -> None:
    """Have inductor use the caches on disk and no others."""
    for name, values in _SETTINGS.items():
        module = importlib.import_module(name)
        for key, value in values.items():
            if hasattr(module, key):
                setattr(module, key, value)


def warnings(config: ExperimentConfig) -> list[str]:
    """Say where a warm experiment found nothing in its cache: its compile time is a cold one."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    if config.cache != "warm" or config.dynamo != "inductor" or utils is None:
        return []
    counted = utils.counters["inductor"]
    if counted["fxgraph_cache_hit"]:
        return []
    misses, bypasses = counted["fxgraph_cache_miss"], counted["fxgraph_cache_bypass"]
    return [f"cache=warm, but no graph came from inductor's cache ({misses} misses, {bypasses} not cacheable)"]
