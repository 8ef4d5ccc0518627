"""A device that PyTorch itself drives: `torch.cuda` and `torch.xpu` offer the same functions."""

from __future__ import annotations

from typing import Any

_MS_PER_S = 1e3


class TorchDevice:
    """One device of a kind, through its module in torch."""

    def __init__(self, kind: str, index: int | None) -> None:
        import torch

        self._module: Any = getattr(torch, kind)
        self.device: Any = torch.device(kind, index or 0)
        self._module.init()
        # What a model allocates as plain `cuda` must lie beside its parameters.
        self._module.set_device(self.device)

    def synchronize(self) -> None:
        self._module.synchronize(self.device)

    def memory_reset(self) -> None:
        self._module.reset_peak_memory_stats(self.device)

    def memory_peak_bytes(self) -> int | None:
        return int(self._module.max_memory_allocated(self.device))

    def timer(self) -> EventTimer:
        return EventTimer(self._module)


class EventTimer:
    """Sum of the spans between pairs of events."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._begins: list[Any] = []
        self._ends: list[Any] = []

    def begin(self) -> None:
        self._begins.append(self._mark())

    def end(self) -> None:
        self._ends.append(self._mark())

    def seconds(self) -> float:
        self._module.synchronize()
        spans = zip(self._begins, self._ends, strict=True)
        total = sum(begin.elapsed_time(end) for begin, end in spans)
        self._begins, self._ends = [], []
        return float(total) / _MS_PER_S

    def _mark(self) -> Any:
        event = self._module.Event(enable_timing=True)
        event.record()
        return event
