"""Give each thread that spins a core of its own, so that another program does not push two of them onto one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_TASKS = Path("/proc/self/task")


def spread(count: int, cores: Sequence[int]) -> None:
    """Bind the busiest threads of this process to different cores.

    Threads that are woken together (SIGCONT) land on the one core that no other program uses, and a pool that spins
    stays there: its threads wait for each other although a core with a program of lower priority is theirs to take.
    Moved apart without being bound, they come together again.

    Args:
        count: threads that compute at the same time; where they are more than the cores, all are left where they are.
        cores: those that the process may use.
    """
    if not 1 < count <= len(cores):
        return
    busiest = sorted(_cpu_times().items(), key=lambda item: -item[1])[:count]
    for core, (thread, _) in zip(cores, busiest, strict=False):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(thread, {core})


def _cpu_times() -> dict[int, int]:
    """Return nanoseconds on a core by thread; empty where the kernel does not say."""
    found = {}
    with contextlib.suppress(OSError):
        for thread in _TASKS.iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                found[int(thread.name)] = int((thread / "schedstat").read_bytes().split()[0])
    return found
