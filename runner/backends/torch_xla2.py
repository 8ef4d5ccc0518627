"""`--torch-xla2`: the module becomes a JAX function through torchax, and JAX compiles it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.accelerators import ACCELERATORS
from runner.backends.host import Backend
from runner.environments.machine import Machine
from runner.workload import Counters, Runtime, Workload
from store.record import Accelerator, ExperimentConfig

_COMPILED = "/jax/core/compile/backend_compile_duration"


class JaxRuntime(Runtime):
    """JAX's first device; modules are built on the host and become functions of JAX arrays."""

    is_xla = False

    def __init__(self, config: ExperimentConfig) -> None:
        import jax
        import torch

        began = time.perf_counter()
        self._jax: Any = jax
        self._platform: Any = jax.devices()[0]
        self.start_s = time.perf_counter() - began
        self.device: Any = torch.device("cpu")
        self._mode = config.torch_xla2
        self._accelerator = ACCELERATORS[config.accelerator]
        self._compiles, self._executions = 0, 0
        self._last: Any = None
        jax.monitoring.register_event_duration_secs_listener(self._on_event)

    def place(self, workload: Workload) -> None:
        """Replace the module by its function in JAX, and the inputs by JAX arrays."""
        import torchax

        # Torchax interprets the graph that torch.export captures, or runs the module's own Python on JAX arrays.
        exports = self._mode == "torch_export"
        weights, function = _from_export(workload) if exports else torchax.extract_jax(workload.module)
        weights = self._jax.device_put(weights, self._platform)
        workload.module = JittedModule(self._jax, weights, function, self._on_result)
        workload.args, workload.kwargs = self.to_device((workload.args, workload.kwargs))

    def to_device(self, inputs: Any) -> Any:
        import torch
        import torchax
        from torch.utils import _pytree as pytree

        copy = torchax.default_env().t2j_copy
        return self._jax.block_until_ready(
            pytree.tree_map_only(
                torch.Tensor, lambda tensor: self._jax.device_put(copy(tensor), self._platform), inputs
            )
        )

    def to_host(self, output: Any) -> Any:
        from torch.utils import _pytree as pytree
        from torchax.ops import mappings

        return pytree.tree_map_only(self._jax.Array, lambda array: mappings.j2t(array).clone(), output)

    def after_iteration(self) -> None:
        """Wait for the iteration, as the peer does: nothing else says that JAX has finished."""
        self._jax.block_until_ready(self._last)
        self._last = None

    def after_block(self) -> None:
        """Do nothing: each iteration has been waited for."""

    def seed(self, seed: int) -> None:
        import torch
        import torchax

        torch.manual_seed(seed)
        torchax.default_env().manual_seed(seed)

    def counters(self) -> Counters:
        return Counters(compiles=self._compiles, executions=self._executions)

    def memory_reset(self) -> None:
        """Do nothing: JAX gives no way to reset its high-water mark."""

    def memory_peak_bytes(self) -> int | None:
        statistics = None if self._accelerator.name == "cpu" else self._platform.memory_stats()
        return int(statistics["peak_bytes_in_use"]) if statistics else None

    def _on_event(self, event: str, *_: Any, **__: Any) -> None:
        if event == _COMPILED:
            self._compiles += 1

    def _on_result(self, output: Any) -> None:
        self._executions += 1
        self._last = output


class JittedModule:
    """A module's function in JAX, called as the module is; inputs that are no tensors are part of the program."""

    def __init__(self, jax: Any, weights: Any, function: Callable[..., Any], on_result: Callable[[Any], None]) -> None:
        self._jax, self._weights, self._function, self._on_result = jax, weights, function, on_result
        self._programs: dict[str, tuple[Any, list[Any]]] = {}

    def eval(self) -> JittedModule:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from torch.utils import _pytree as pytree

        leaves, structure = pytree.tree_flatten((args, kwargs))
        arrays = [leaf for leaf in leaves if isinstance(leaf, self._jax.Array)]
        rest = [None if isinstance(leaf, self._jax.Array) else leaf for leaf in leaves]
        program, shape_of_output = self._program(structure, rest)
        flat = program(self._weights, arrays)
        self._on_result(flat)
        return pytree.tree_unflatten(flat, shape_of_output[0])

    def _program(self, structure: Any, rest: list[Any]) -> tuple[Any, list[Any]]:
        from torch.utils import _pytree as pytree

        key = f"{structure} {rest}"
        if key in self._programs:
            return self._programs[key]
        shape_of_output: list[Any] = []

        def flat(weights: Any, arrays: list[Any]) -> Any:
            given = iter(arrays)
            leaves = [next(given) if leaf is None else leaf for leaf in rest]
            args, kwargs = pytree.tree_unflatten(leaves, structure)
            values, shape = pytree.tree_flatten(self._function(weights, args, kwargs))
            shape_of_output[:] = [shape]
            return values

        self._programs[key] = self._jax.jit(flat), shape_of_output
        return self._programs[key]


def _from_export(workload: Workload) -> tuple[Any, Callable[..., Any]]:
    """Let torch.export capture the module, and torchax interpret the captured graph."""
    import torch
    from torch.utils import _pytree as pytree
    from torchax.export import exported_program_to_jax

    with torch.no_grad():
        exported = torch.export.export(workload.module, workload.args, workload.kwargs)
    weights, interpret = exported_program_to_jax(exported)
    names = list(workload.kwargs)

    def function(weights: Any, args: Any, kwargs: Any) -> Any:
        leaves = pytree.tree_leaves((args, {name: kwargs[name] for name in names}))
        values = interpret(weights, tuple(leaves))
        return pytree.tree_unflatten(list(values), exported.call_spec.out_spec)

    return weights, function


class TorchXla2(Backend):
    """One of the two ways from a module to JAX: `extract_jax` and `torch_export`."""

    preload: Sequence[str] = ("torch",)
    """Never JAX: it starts threads, and those do not survive a fork."""

    def __init__(self, mode: str) -> None:
        self.name = mode

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = machine.accelerator_missing(accelerator)
        if missing:
            return missing
        if accelerator not in ("cpu", "tpu"):
            return f"torch_xla2 supports cpu and tpu, not {accelerator}"
        # PyTorch/XLA's wheel holds an old copy of torchax without the JAX that it needs.
        absent = [name for name in ("torchax", "jax") if name not in machine.packages]
        return f"{absent[0]} is not installed: pip install torchax jax" if absent else None

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.test == "train":
            return "torch_xla2 converts only the module's forward pass, so it supports eval only"
        if config.dynamo is not None:
            return f"torch_xla2 cannot be combined with dynamo; remove --dynamo {config.dynamo}"
        if config.dtype == "amp":
            return "torch_xla2 has no autocast; use another --dtype"
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        warm = config.cache == "warm"
        return {
            **ACCELERATORS[config.accelerator].variables,
            "JAX_PLATFORMS": config.accelerator,
            "JAX_ENABLE_COMPILATION_CACHE": "true" if warm else "false",
            "JAX_COMPILATION_CACHE_DIR": str(scratch / "jax") if warm else "",
            "XLA_FLAGS": " ".join(config.xla_flags),
        }

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return JaxRuntime(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step  # the runtime has made a jitted module of it
