"""PyTorch/XLA through dynamo: graphs are traced once, the compiled program is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.backends import dynamo, xla
from runner.backends.openxla_lazytensor import OpenXlaLazyTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from store.record import ExperimentConfig


class OpenXlaDynamo(OpenXlaLazyTensor):
    """Compile the step with dynamo's `openxla` backend: AOTAutograd over the bridge, forward and backward each once."""

    name = "openxla+dynamo"
    preload: Sequence[str] = (*xla.PRELOAD, "torch._dynamo", "torch_xla._dynamo.dynamo_bridge")

    def compile(self, step: Callable[..., Any], config: ExperimentConfig) -> Callable[..., Any]:
        return dynamo.compile_step(step, "openxla", config)

    def invalid(self) -> str | None:
        return dynamo.no_graph()
