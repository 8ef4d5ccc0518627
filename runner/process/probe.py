"""A fixed piece of work on each core: it sees what waits of threads cannot (SMT siblings, caches, clocks, steal)."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.messages import Probed

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_SCHEDSTAT = Path("/proc/thread-self/schedstat")


@dataclass
class Probe:
    """Does the same work on one core after the other; its arrays are made once."""

    cores: Sequence[int] = field(default_factory=lambda: sorted(os.sched_getaffinity(0)))
    """Those that the process may use."""
    _arrays: tuple[Any, ...] = field(default_factory=tuple)

    def take(self) -> Probed:
        """Return seconds of the work on each core that the process may use, and how much it had to wait for one.

        While the process's other threads rest, whoever keeps this thread from a core is another program.
        """
        bound = os.sched_getaffinity(0)
        seconds, shares = [], []
        try:
            for core in self.cores[:MAX_CORES]:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(0, {core})
                tries = [self._timed() for _ in range(TRIES)]
                seconds.append(min(worked for worked, _ in tries))
                shares.append(sum(waited for _, waited in tries) / sum(worked + waited for worked, waited in tries))
        finally:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, bound)
        return Probed(seconds=seconds, wait_share=max(shares))

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


def _waited_s() -> float:
    """Return what this thread has waited for a core so far; 0 where the kernel does not say."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(_SCHEDSTAT.read_bytes().split()[1]) * 1e-9
    return 0.0
