"""PyTorch/XLA: lazy tensors, and dynamo over its bridge, today's and that of pytorch/pytorch#87741."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.backends import dynamo, xla
from runner.backends.base import Backend
from runner.environments.machine import Machine
from runner.workload import Runtime
from store.record import Accelerator, ExperimentConfig


class OpenXlaLazyTensor(Backend):
    """Lazy tensors: trace every iteration, compile at the sync where the trace is new."""

    name = "openxla+lazytensor"
    preload: Sequence[str] = xla.PRELOAD

    def unavailable(self, accelerator: Accelerator, machine: Machine) -> str | None:
        return xla.unavailable(accelerator, machine)

    def variables(self, config: ExperimentConfig, scratch: Path) -> Mapping[str, str]:
        return xla.variables(config, scratch)

    def open(self, config: ExperimentConfig, device_index: int | None = None) -> Runtime:
        return xla.XlaRuntime(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return step


class OpenXlaDynamo(OpenXlaLazyTensor):
    """Compile the step with dynamo's `openxla` backend: AOTAutograd over the bridge, forward and backward each once."""

    name = "openxla+dynamo"
    preload: Sequence[str] = (*xla.PRELOAD, "torch._dynamo", "torch_xla._dynamo.dynamo_bridge")

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
