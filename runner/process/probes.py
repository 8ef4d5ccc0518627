"""The probes: fixed pieces of work, timed around a turn, see what waits of threads cannot.

SMT siblings, caches, clocks and the host of a virtual machine change how long they take. Short sleeps on each core see
how long another program delays a thread that wakes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.messages import Probed

MAX_CORES = 8
"""Cores that are probed; on larger machines the first of those that the process may use."""
ARITHMETIC_VALUES = 1 << 15
"""Sines of 256 KiB: about a third of a millisecond of arithmetic."""
MEMORY_VALUES = 1 << 18
"""Two mebibytes are copied: more than the first caches of a core hold."""
BRANCHES = 3000
"""Steps of an interpreted loop, a tenth of a millisecond: a busy sibling slows branches more than arithmetic."""
TRIES = 3
"""Tries on each core, of which the fastest counts: a single interrupt is no slow core."""
WAKE_UPS = 8
"""Sleeps on each core."""
STREAMED_VALUES, STREAMS = 20_000, 60
"""Values for each thread, and additions of them; each addition waits for its slowest thread: half a millisecond."""
MATRIX, PRODUCTS = 128, 15
"""Columns and rows of a matrix, half as many rows for each thread, and products with it: half a millisecond."""
_SPIN_S = 0.03
"""So long at most did OpenMP's threads spin after their work (10 to 28 ms), on a core that another pool may need."""
_SLEEP_S = 50e-6
"""About a tenth of a millisecond with the kernel's own slack: long enough for another program to take the core."""
_SCHEDSTAT = Path("/proc/thread-self/schedstat")


@dataclass
class Probe:
    """Does the same work on one core after the other; its arrays are made once."""

    cores: Sequence[int] = field(default_factory=lambda: sorted(os.sched_getaffinity(0)))
    """Cores that the process may use."""
    _arrays: tuple[Any, ...] = field(default_factory=tuple)

    def take(self) -> Probed:
        """Return seconds of the work on each core that the process may use, and how long it had to wait for one.

        While the process's other threads rest, only another program can keep this thread from a core.
        """
        bound = os.sched_getaffinity(0)
        seconds, shares, wake_ups = [], [], []
        try:
            for core in self.cores[:MAX_CORES]:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(0, {core})
                tries = [self._timed() for _ in range(TRIES)]
                seconds.append(min(worked for worked, _ in tries))
                shares.append(sum(waited for _, waited in tries) / sum(worked + waited for worked, waited in tries))
                wake_ups.append(_wait_per_wake_up_s())
        finally:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, bound)
        return Probed(seconds=seconds, wait_share=max(shares), wake_up_s=max(wake_ups))

    def _timed(self) -> tuple[float, float]:
        """Return seconds of work, and seconds waited for the core meanwhile."""
        import numpy as np

        if not self._arrays:
            values, source = np.linspace(0.0, 1.0, ARITHMETIC_VALUES), np.ones(MEMORY_VALUES)
            self._arrays = values, np.empty_like(values), source, np.zeros_like(source)
        values, result, source, copy = self._arrays
        before = _waited_s()
        began = time.perf_counter()
        np.sin(values, out=result)
        np.copyto(copy, source)
        for _ in range(BRANCHES):
            pass
        seconds = time.perf_counter() - began
        # What the kernel books a little later than it happened cannot be more than the whole.
        waited = min(max(0.0, _waited_s() - before), 0.99 * seconds)
        return seconds - waited, waited


@dataclass
class ThreadsProbe:
    """Does the same work on all of torch's threads at once; its tensors are made once.

    The host can slow the cores of a virtual machine only while several work, and work that waits for its slowest thread
    all the time notices each short stop of one: both took a step 1.4 times as long while `Probe` saw nothing.
    """

    _tensors: tuple[Any, ...] = field(default_factory=tuple)

    def take(self, *, rest: bool) -> float | None:
        """Return seconds of the work; None if torch computes with one thread, which `Probe` describes.

        Args:
            rest: wait until the threads no longer spin, as nothing follows that is timed apart.
        """
        import torch

        threads = min(torch.get_num_threads(), MAX_CORES)
        if threads == 1:
            return None
        with torch.inference_mode():
            if not self._tensors:
                of = {"dtype": torch.float32, "device": "cpu"}
                values, left = (
                    torch.ones(STREAMED_VALUES * threads, **of),
                    torch.ones(MATRIX * threads // 2, MATRIX, **of),
                )
                right = torch.ones(MATRIX, MATRIX, **of)
                self._tensors = values, torch.empty_like(values), left, right, torch.empty_like(left)
            self._work()  # wakes the threads and fills the caches
            seconds = min(self._timed() for _ in range(TRIES))
        if rest:
            time.sleep(_SPIN_S)
        return seconds

    def _timed(self) -> float:
        began = time.perf_counter()
        self._work()
        return time.perf_counter() - began

    def _work(self) -> None:
        import torch

        values, result, left, right, product = self._tensors
        for _ in range(STREAMS):
            torch.add(values, 1.0, out=result)
        for _ in range(PRODUCTS):
            torch.mm(left, right, out=product)


def _wait_per_wake_up_s() -> float:
    """Return what this thread waits for its core after a short sleep, on average."""
    before = _waited_s()
    for _ in range(WAKE_UPS):
        time.sleep(_SLEEP_S)
    return (_waited_s() - before) / WAKE_UPS


def _waited_s() -> float:
    """Return what this thread has waited for a core so far; 0 where the kernel does not say."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(_SCHEDSTAT.read_bytes().split()[1]) * 1e-9
    return 0.0
