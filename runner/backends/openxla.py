"""PyTorch/XLA: its runtime, and the backends over it: lazy tensors, and dynamo over its bridge, old and new."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.accelerators import ACCELERATORS
from runner.backends import dynamo, steps
from runner.backends.host import Backend, TorchRuntime
from runner.environments.machine import Machine
from runner.workload import Counters, Runtime
from store.errors import UsageError
from store.record import Accelerator, ExperimentConfig, Replacement

# Ops that PyTorch/XLA runs on the host: which of them only read a value, and which it lowers on request.

OPT_IN_VARIABLE = "XLA_EXPERIMENTAL"
"""Names ops that PyTorch/XLA lowers on request only, separated by colons; read once, at their first call."""

_HOST_READS = frozenset({"_local_scalar_dense", "item"})
"""The program asked for a value: nothing to lower, its call site is what helps."""

_OPT_IN = frozenset({"nonzero", "masked_select", "masked_scatter"})
"""Lowered only where `OPT_IN_VARIABLE` names them (dynamic shapes)."""


def is_host_read(op: str) -> bool:
    """Say whether an op, named without `aten::`, does nothing but bring a value to the host."""
    return _base(op) in _HOST_READS


def is_opt_in(op: str) -> bool:
    """Say whether PyTorch/XLA has a lowering of the op that it leaves off."""
    return _base(op) in _OPT_IN


def opt_in_variables(ops: Iterable[str]) -> dict[str, str]:
    """Return the variable that switches on the lowerings of these ops, in addition to the user's own."""
    wanted = [_base(op) for op in ops if is_opt_in(op)]
    present = os.environ.get(OPT_IN_VARIABLE, "").split(":")
    return {OPT_IN_VARIABLE: ":".join(dict.fromkeys(filter(None, [*present, *wanted])))} if wanted else {}


def _base(op: str) -> str:
    return op.split(".", maxsplit=1)[0]


class NotReplaced(UsageError):
    """An op that cannot be computed without falling back."""


class Replaced:
    """The ops that are replaced in this process, for as long as it lives."""

    def __init__(self, ops: Sequence[str]) -> None:
        self._ops = tuple(ops)
        self._calls: Counter[str] = Counter()
        self._running: set[str] = set()
        self._sources: dict[str, str] = {}
        wanted = [op for op in self._ops if not is_opt_in(op)]
        if wanted:
            import torch

            # Its kernels go with it.
            self._library = torch.library.Library("aten", "IMPL")
        for op in wanted:
            self._replace(op)

    def replacements(self) -> list[Replacement]:
        return [
            Replacement(op=op, way="opt_in", source=f"{OPT_IN_VARIABLE}={op}")
            if is_opt_in(op)
            else Replacement(op=op, way="decomposition", source=self._sources[op], calls=self._calls[op])
            for op in self._ops
        ]

    def _replace(self, op: str) -> None:
        import torch
        from torch._decomp import decomposition_table

        base, _, overload = op.partition(".")
        decomposition = decomposition_table.get(getattr(getattr(torch.ops.aten, base), overload or "default"))
        if decomposition is None:
            raise NotReplaced(f"--without-fallback {op}: this version of torch has no decomposition of it")
        module, name = getattr(decomposition, "__module__", ""), getattr(decomposition, "__name__", op)
        self._sources[op] = f"{module}.{name}"
        with warnings.catch_warnings():
            # That a kernel is replaced is what was asked for.
            warnings.simplefilter("ignore", UserWarning)
            self._library.impl(op, self._kernel(op, decomposition), "XLA")

    def _kernel(self, op: str, decomposition: Callable[..., Any]) -> Callable[..., Any]:
        def kernel(*args: Any, **kwargs: Any) -> Any:
            if op in self._running:
                raise NotReplaced(f"--without-fallback {op}: torch's decomposition of it calls {op} itself")
            self._calls[op] += 1
            self._running.add(op)
            try:
                return decomposition(*args, **kwargs)
            finally:
                self._running.discard(op)

        return kernel


PRELOAD = ("torch_xla", "torch_xla.core.xla_model", "torch_xla.debug.metrics")
_FALLBACK_PREFIX = "aten::"
_UNSUPPORTED = {
    "cuda": "PyTorch/XLA no longer supports CUDA devices",
    "xpu": "PyTorch/XLA has no XPU devices",
}
_TRANSFERS = {
    "TransferToDevice": ("TransferToDeviceTime", "OutboundData"),
    "TransferFromDevice": ("TransferFromDeviceTime", "InboundData"),
}
"""Name of our metric → the runtime's metrics of time and of bytes, as the host sees them."""
_PRECISIONS = {"highest": "highest", "high": "high", "medium": "default", "default": "default"}
"""torch's words for the precision of float32 products, and PyTorch/XLA's."""


def unavailable(accelerator: Accelerator, machine: Machine) -> str | None:
    """Say why PyTorch/XLA cannot run here."""
    missing = _UNSUPPORTED.get(accelerator) or machine.accelerator_missing(accelerator)
    if missing:
        return missing
    if "torch_xla" not in machine.packages:
        torch = machine.packages.get("torch", "no torch")
        return f"torch_xla is not installed for torch {torch}; install the extra `xla` (torch 2.9.1, torch_xla 2.9.0)"
    return None


def variables(config: ExperimentConfig, scratch: Path) -> dict[str, str]:
    """Return the variables of a PJRT process with its persistent cache off."""
    values = {
        **ACCELERATORS[config.accelerator].variables,
        "XLA_FLAGS": " ".join(config.xla_flags),
        "XLA_DISABLE_FUNCTIONALIZATION": "0" if config.enable_functionalization else "1",
        **opt_in_variables(config.without_fallback),
    }
    # Empty means off; a cache folder of the user's own environment is never used silently.
    values["XLA_PERSISTENT_CACHE_PATH"] = str(scratch / "xla") if config.cache == "warm" else ""
    return values


class XlaRuntime(TorchRuntime):
    """A PJRT device; work is recorded and runs when the graph is cut."""

    is_xla = True

    def __init__(self, config: ExperimentConfig) -> None:
        import torch_xla
        from torch_xla.core import xla_model
        from torch_xla.debug import metrics

        self._torch_xla = torch_xla
        self._model = xla_model
        self._metrics = metrics
        self._replaced = Replaced(config.without_fallback)
        began = time.perf_counter()
        self.device: Any = torch_xla.device()
        self._model.wait_device_ops()
        self.start_s = time.perf_counter() - began
        # The device behind PJRT: its memory is not the host's where it is a TPU.
        self._opened = ACCELERATORS[config.accelerator].open(None)
        torch_xla._XLAC._xla_set_mat_mul_precision(_PRECISIONS[steps.precision(config)])  # noqa: SLF001 - the only way

    def after_iteration(self) -> None:
        self._torch_xla.sync()

    def after_block(self) -> None:
        self._model.wait_device_ops()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._model.set_rng_state(seed, str(self.device))
        self._torch_xla.sync()
        self._model.wait_device_ops()

    def counters(self) -> Counters:
        return Counters(
            compiles=self._number("CompileTime"),
            executions=self._number("ExecuteTime"),
            graphs=dynamo.graphs(),
            device_reads=self._number("TransferFromDeviceTime"),
        )

    def fallback_calls(self) -> dict[str, int]:
        names = [name for name in self._metrics.counter_names() if name.startswith(_FALLBACK_PREFIX)]
        return {name.removeprefix(_FALLBACK_PREFIX): int(self._metrics.counter_value(name) or 0) for name in names}

    def replacements(self) -> list[Replacement]:
        return self._replaced.replacements()

    def metric(self, name: str) -> tuple[int, float]:
        """Return samples and total seconds of a time metric of the runtime."""
        data = self._metrics.metric_data(name)
        return (int(data[0]), data[1] * 1e-9) if data else (0, 0.0)

    def transfers(self) -> dict[str, float]:
        transferred: dict[str, float] = {}
        for name, (time_metric, bytes_metric) in _TRANSFERS.items():
            number, seconds = self.metric(time_metric)
            data = self._metrics.metric_data(bytes_metric)
            transferred |= {
                f"{name}_time_s": seconds,
                f"{name}_number": float(number),
                f"{name}_bytes": float(data[1]) if data else 0.0,
            }
        return transferred

    def _number(self, name: str) -> int:
        return self.metric(name)[0]


class OpenXlaLazyTensor(Backend):
    """Lazy tensors: trace every iteration, compile at the sync where the trace is new."""

    name = "openxla+lazytensor"
    preload: Sequence[str] = PRELOAD

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return unavailable(accelerator, machine)

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        return variables(config, scratch)

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return XlaRuntime(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step


class OpenXlaDynamo(OpenXlaLazyTensor):
    """Compile the step with dynamo's `openxla` backend: AOTAutograd over the bridge, forward and backward each once."""

    name = "openxla+dynamo"
    preload: Sequence[str] = (*PRELOAD, "torch._dynamo", "torch_xla._dynamo.dynamo_bridge")

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, "openxla", config)

    def invalid(self) -> str | None:
        return dynamo.no_graph()


class TorchXlaTrivial(OpenXlaDynamo):
    """Capture with dynamo, trace every time.

    Dynamo returns the captured graph as it is, so each call records it again. Against `openxla+lazytensor` it shows how
    much of Python's work dynamo's capture saves; against today's `openxla` what tracing once saves. Tracing every time
    is its design and no recompilation: a steady iteration compiles nothing, because the trace's program is known.
    """

    name = "torchxla_trivial"

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, as_captured, config)


def as_captured(graph: Any, inputs: Any) -> Any:
    """Return the captured graph unchanged; dynamo shows this function's name as that of the backend."""
    del inputs
    return graph.forward


class TorchXlaTraceOnce(OpenXlaDynamo):
    """Capture with dynamo, trace once through PyTorch/XLA's bridge.

    Today's `openxla` is the same bridge behind AOTAutograd, which also gives it a backward graph: without it there is
    no training.
    """

    name = "torchxla_trace_once"

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.test == "train":
            return f"{self.name} traces no backward graph, so it supports eval only; use openxla for train"
        return super().refuses(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, traced_once, config)


class OpenXlaEval(TorchXlaTraceOnce):
    """The same under the name that PyTorch registers today."""

    name = "openxla_eval"

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, self.name, config)


def traced_once(graph: Any, inputs: Any) -> Callable[..., Any]:
    """Return a function that traces the graph with its first real inputs and calls its program afterwards."""
    from torch_xla._dynamo.dynamo_bridge import extract_compiled_graph

    del inputs
    program: Any = None

    def call(*values: Any) -> Any:
        nonlocal program
        if program is None:
            program = extract_compiled_graph(graph, values)
        return program(*values)

    return call
