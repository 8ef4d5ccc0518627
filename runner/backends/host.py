"""The runtime of eager and inductor: PyTorch's own CPU and CUDA devices."""

from __future__ import annotations

import time
from typing import Any

from runner.backends import dynamo
from runner.backends.base import Counters


class HostRuntime:
    """A PyTorch device that executes as it is told."""

    is_xla = False

    def __init__(self, accelerator: str) -> None:
        import torch

        began = time.perf_counter()
        self.device: Any = torch.device(accelerator)
        self._cuda: Any = torch.cuda if accelerator == "cuda" else None
        if self._cuda:
            self._cuda.init()
        self.start_s = time.perf_counter() - began

    def after_iteration(self) -> None:
        """Do nothing: operations are launched as they come."""

    def after_block(self) -> None:
        if self._cuda:
            self._cuda.synchronize()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self.after_block()

    def counters(self) -> Counters:
        return Counters(compiles=dynamo.graphs())

    def fallback_calls(self) -> dict[str, int]:
        return {}

    def compiler_time_s(self) -> float | None:
        return None

    def memory_reset(self) -> None:
        if self._cuda:
            self._cuda.reset_peak_memory_stats()

    def memory_peak_bytes(self) -> int | None:
        return int(self._cuda.max_memory_allocated()) if self._cuda else None
