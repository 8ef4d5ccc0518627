"""The CUDA allocator's history over the instrumented blocks, for pytorch.org/memory_viz."""

from __future__ import annotations

from typing import Any

from runner.instrument.base import Tool


class MemorySnapshot(Tool):
    """Records from before the first compilation on, because the peaks of the warm-up matter."""

    names = ("memory_snapshot",)

    def before_first(self) -> None:
        _memory()._record_memory_history()  # noqa: SLF001 - documented under this name

    def finish(self) -> None:
        memory = _memory()
        memory._dump_snapshot(str(self.bench.folder / "memory-snapshot.pickle"))  # noqa: SLF001 - as above
        memory._record_memory_history(enabled=None)  # noqa: SLF001 - as above


def _memory() -> Any:
    import torch

    return torch.cuda.memory
