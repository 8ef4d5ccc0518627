"""`torchxla_trace_once` of pytorch/pytorch#87741, and `openxla_eval`, its name in PyTorch today.

The captured graph is traced at its first call and its compiled program is called from then on. Today's `openxla` is the
same bridge behind AOTAutograd, which also gives it a backward graph: without it there is no training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.backends import dynamo
from runner.backends.openxla_dynamo import OpenXlaDynamo

if TYPE_CHECKING:
    from collections.abc import Callable

    from store.record import ExperimentConfig


class TorchXlaTraceOnce(OpenXlaDynamo):
    """Capture with dynamo, trace once through PyTorch/XLA's bridge."""

    name = "torchxla_trace_once"

    def refuses(self, config: ExperimentConfig) -> str | None:
        if config.test == "train":
            return f"{self.name} traces no backward graph, so it supports eval only; use openxla for train"
        return super().refuses(config)

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, traced_once, config)


class OpenXlaEval(TorchXlaTraceOnce):
    """The same under the name that PyTorch registers."""

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
