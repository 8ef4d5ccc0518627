"""What a measuring process does before it is stopped, so that nothing hangs on it while others are measured."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from pathlib import Path

_LOCKS = Path("/proc/locks")
_PID_FIELD = 4
_PATIENCE_S = 1.0
_LOOK_EVERY_S = 0.02


def settle() -> int:
    """End helpers, collect garbage, wait for file locks to go; return how many are held all the same."""
    _end_compile_workers()
    # Else a collection falls into some turn, of this process or none, as chance has it.
    gc.collect()
    deadline = time.monotonic() + _PATIENCE_S
    while (held := locks_held()) and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)
    return held


def locks_held(pid: int | None = None) -> int:
    """Return how many file locks a process holds; 0 where the kernel does not list them."""
    owner = str(pid or os.getpid())
    with contextlib.suppress(OSError):
        # A waiter for a lock has an arrow in the second field, which shifts the others: it holds nothing.
        lines = [line.split() for line in _LOCKS.read_text().splitlines()]
        return sum(len(line) > _PID_FIELD and line[_PID_FIELD] == owner for line in lines)
    return 0


def _end_compile_workers() -> None:
    """End inductor's processes, which a new compilation would start again; import nothing that nobody has used."""
    compiling = sys.modules.get("torch._inductor.async_compile")
    if compiling is not None:
        compiling.shutdown_compile_workers()
