"""TorchScript: the module traced by `torch.jit.trace`, or the graphs that dynamo captures (`ts`).

The whole module is what the TorchDynamo harness measures as `--speedup-ts`. It is traced with its first inputs, after
the step has put it into train or eval mode and under the step's autocast; backward is autograd's through TorchScript's
graph. Its executor profiles the first iterations and optimises then, so it is steady a few blocks later than others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runner.backends import dynamo, host
from runner.backends.host import Eager, HostDynamo
from runner.environments.machine import Machine
from store.record import Accelerator, ExperimentConfig


class TorchScript(Eager):
    """Trace the module at the first call; later ones run TorchScript's graph."""

    name = "torchscript"

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.operator is not None:
            return "torchscript traces modules only; use --dynamo ts for operators"
        return None

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        module = step.module  # type: ignore[attr-defined]  # `make_step` names the module that a step calls
        own = module.forward
        module.forward = Traced(own, module)
        return step


class Traced:
    """A function of a module: traced when it is first called, TorchScript's graph from then on."""

    def __init__(self, function: Callable[..., Any], module: Any) -> None:
        self._function = function
        self._module = module
        self._graph: Any = None
        self._rebuild: Callable[[Any], Any] = lambda results: results

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch
        from torch.utils import _pytree as pytree

        leaves, structure = pytree.tree_flatten((args, kwargs))
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        if self._graph is None:
            self._trace(leaves, structure, tensors)
        return self._rebuild(self._graph(*tensors))

    def _trace(self, leaves: list[Any], structure: Any, tensors: tuple[Any, ...]) -> None:
        """Trace for these inputs; buffers that the function writes to, and random streams, are restored."""
        import torch

        written = [tensor for tensor in (*tensors, *self._module.buffers()) if not tensor.requires_grad]
        before = [tensor.detach().clone() for tensor in written]
        cached = torch.is_autocast_cache_enabled()
        # A weight that autocast has cast before would be a constant of the graph, without a gradient.
        torch.set_autocast_cache_enabled(False)
        try:
            with torch.random.fork_rng(devices=[]):
                flat = flattened(self._function, self._module, leaves, structure)
                self._graph = torch.jit.trace(flat, tensors, check_trace=False, strict=False)
        finally:
            torch.set_autocast_cache_enabled(cached)
        self._rebuild = flat.rebuild
        with torch.no_grad():
            for tensor, value in zip(written, before, strict=True):
                tensor.copy_(value)


def flattened(function: Callable[..., Any], module: Any, leaves: list[Any], structure: Any) -> Any:
    """Return the function as a module of tensors only; what else it takes or returns is a constant of its graph."""
    import torch
    from torch.utils import _pytree as pytree

    class Flat(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: Any) -> Any:
            given = iter(tensors)
            filled = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(filled, structure)
            outputs, shape = pytree.tree_flatten(function(*args, **kwargs))
            are_tensors = [isinstance(leaf, torch.Tensor) for leaf in outputs]
            constants = [None if is_tensor else leaf for leaf, is_tensor in zip(outputs, are_tensors, strict=True)]

            def rebuild(results: Any) -> Any:
                remaining = iter(results)
                every = [
                    next(remaining) if is_tensor else constant
                    for constant, is_tensor in zip(constants, are_tensors, strict=True)
                ]
                return pytree.tree_unflatten(every, shape)

            Flat.rebuild = staticmethod(rebuild)
            return tuple(leaf for leaf, is_tensor in zip(outputs, are_tensors, strict=True) if is_tensor)

    return Flat()


class DynamoTorchScript(HostDynamo):
    """Dynamo captures, TorchScript runs the captured graphs: `ts`, which PyTorch still lists."""

    def __init__(self) -> None:
        super().__init__("ts")

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return host.unavailable(accelerator, machine)

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.dynamic_shapes:
            return "ts traces a graph for fixed input sizes; remove --dynamic-shapes"
        return super().refuses(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, traced, config)


def traced(graph: Any, inputs: Any) -> Any:
    """Return a captured graph as TorchScript.

    PyTorch's own `ts` scripts it, which fails on the lazy modules that dynamo makes today and under autocast.
    """
    del inputs
    return Traced(graph.forward, graph)
