"""What a backend is; PyTorch's own devices, their runtime, and their backends: eager, dynamo's, TorchScript."""

from __future__ import annotations

import shutil
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol, final

from runner.accelerators import ACCELERATORS
from runner.accelerators.base import Device, Timer
from runner.backends import dynamo, steps
from runner.environments.machine import Machine
from runner.workload import Counters, Runtime, Workload
from store.record import Accelerator, ExperimentConfig


class Backend(Protocol):
    """One way to compile, found by the (xla, dynamo, torch_xla2) of a configuration.

    By itself it refuses no configuration, and its numbers are always those of the backend.
    """

    name: str
    preload: Sequence[str]
    """Modules that the fork server imports once where the plan holds this backend."""

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        """Say why this machine cannot run it, or None. Imports no torch."""

    def refuses(self, config: ExperimentConfig) -> str | None:
        """Say why it can measure this configuration on no machine, or None. Imports no torch."""
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        """Return environment variables to set in the benchmark process before first use."""

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        """Start the runtime in the benchmark process, on the device of that index; None is the first."""

    @abstractmethod
    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        """Return the step as this backend runs it. It has no default: who forgot it would measure eager."""

    def invalid(self) -> str | None:
        """Say after the run why its numbers are no measurement of this backend, or None."""
        return None


def unavailable(accelerator: Accelerator, machine: Machine) -> str | None:
    """Say why PyTorch's own device cannot run here."""
    if accelerator == "tpu":
        return "only PyTorch/XLA supports TPUs: PyTorch itself has no TPU device"
    return machine.accelerator_missing(accelerator)


class TorchRuntime(Runtime, Protocol):
    """A runtime whose device holds torch's tensors."""

    _opened: Device

    def place(self, workload: Workload) -> None:
        steps.move(workload, self.device)

    def to_device(self, inputs: Any) -> Any:
        return steps.moved(inputs, self.device)

    def to_host(self, output: Any) -> Any:
        return steps.moved(output, "cpu")

    def memory_reset(self) -> None:
        self._opened.memory_reset()

    def memory_peak_bytes(self) -> int | None:
        return self._opened.memory_peak_bytes()


class HostRuntime(TorchRuntime):
    """A PyTorch device, which executes operations as they are launched."""

    is_xla = False

    def __init__(self, accelerator: Accelerator, index: int | None = None) -> None:
        began = time.perf_counter()
        self._opened = ACCELERATORS[accelerator].open(index)
        self.device: Any = self._opened.device
        self.start_s = time.perf_counter() - began

    def timer(self) -> Timer | None:
        return self._opened.timer()

    def after_iteration(self) -> None:
        """Do nothing: operations are launched as they come."""

    def after_block(self) -> None:
        self._opened.synchronize()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self.after_block()

    def counters(self) -> Counters:
        return Counters(compiles=dynamo.graphs())


# PyTorch eager: no compiler.


class Eager(Backend):
    """Run the step as it is written; the base of the compilers of PyTorch's own devices."""

    name: str = "eager"
    preload: Sequence[str] = ("torch",)

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return unavailable(accelerator, machine)

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        return ACCELERATORS[config.accelerator].variables

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return HostRuntime(config.accelerator, device_index)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step


# TorchInductor, and any backend that dynamo lists, by its name: `aot_eager`, `cudagraphs`.


_NOT_OFFERED = ("_TESTING_ONLY", "minifier_backend", "aot_ts")
"""Ends of names that are no way to run a model: PyTorch's own tests, the minifier, a `ts` that cannot compile."""


class HostDynamo(Eager):
    """Compile the step with the dynamo backend of a name; torch knows which there are."""

    preload: Sequence[str] = ("torch._dynamo",)

    def __init__(self, name: str) -> None:
        self.name = name

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = unavailable(accelerator, machine)
        if missing:
            return missing
        known = machine.dynamo_backends()
        if self.name in known:
            return None
        if not known:
            return f"torch could not list its dynamo backends, so {self.name} cannot be checked"
        close = get_close_matches(self.name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        offered = ", ".join(name for name in known if not name.endswith(_NOT_OFFERED))
        return f"dynamo has no backend {self.name}{hint}; available: {offered}"

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.xla:
            return f"{self.name} runs on the host device; remove --xla {config.xla}"
        if self.name == "cudagraphs" and config.accelerator != "cuda":
            return "cudagraphs requires CUDA; on other devices it would run as eager"
        return None

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"), "TRITON_CACHE_DIR": str(scratch / "triton")}
        return {**ACCELERATORS[config.accelerator].variables, **caches}

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, self.name, config)

    def invalid(self) -> str | None:
        return dynamo.no_graph()


@final
class Inductor(HostDynamo):
    """Compile the step with inductor into caches of its own.

    Its options are settings (`--inductor-config`), never a backend of another name: plans, dumps and verification know
    inductor by its name, so its own settings would be left out of the plan.
    """

    preload: Sequence[str] = ("torch._dynamo", "torch._inductor.compile_fx")

    def __init__(self) -> None:
        super().__init__("inductor")

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        missing = unavailable(accelerator, machine)
        if missing or accelerator != "cpu":
            return missing
        return machine.toolchain_missing()

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.freezing and config.test == "train":
            return "freezing turns parameters into constants, so it supports eval only"
        return super().refuses(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        from torch._inductor import config as inductor_config

        steps.on_disk_only()
        inductor_config.triton.cudagraphs = config.cudagraphs
        inductor_config.freezing = config.freezing
        if shutil.which("openssl") is None:
            # Inductor names its precompiled headers with openssl and fails without it.
            inductor_config.cpp_cache_precompile_headers = False
        return dynamo.compile_step(step, self.name, config)


# TorchScript: the module traced by `torch.jit.trace`, or the graphs that dynamo captures (`ts`).
#
# The whole module is what the TorchDynamo harness measures as `--speedup-ts`. It is traced with its first inputs, after
# the step has put it into train or eval mode and under the step's autocast; backward is autograd's through
# TorchScript's graph. Its executor profiles the first iterations and optimises then, so it is steady a few blocks later
# than others.


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
        return unavailable(accelerator, machine)

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
