"""`torchxla_trivial` of pytorch/pytorch#87741: dynamo captures the graph, lazy tensors trace it at every call.

Dynamo hands the captured graph back as it is, so each call records it anew. Against `openxla+lazytensor` it shows what
dynamo's capture saves of Python's work; against today's `openxla` what tracing once saves. Tracing again is its design
and no recompilation: a steady iteration compiles nothing, because the trace's program is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.backends import dynamo
from runner.backends.openxla_dynamo import OpenXlaDynamo

if TYPE_CHECKING:
    from collections.abc import Callable

    from store.record import ExperimentConfig


class TorchXlaTrivial(OpenXlaDynamo):
    """Capture with dynamo, trace every time."""

    name = "torchxla_trivial"

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, as_captured, config)


def as_captured(graph: Any, inputs: Any) -> Any:
    """Return the captured graph unchanged; the name is what dynamo shows of a backend."""
    del inputs
    return graph.forward
