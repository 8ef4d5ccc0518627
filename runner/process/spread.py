"""Put threads that spin onto cores of their own when a stopped process goes on."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_TASKS = Path("/proc/self/task")


def spread(count: int) -> None:
    """Move the busiest threads of this process to different cores once; afterwards the kernel may move them as before.

    Threads that are woken together (SIGCONT) land on the one core that no other program uses, and a pool that spins
    stays there: its threads wait for each other although a core with a program of lower priority is theirs to take.

    Args:
        count: threads that compute at the same time; more than there are cores are left where they are.
    """
    cores = sorted(os.sched_getaffinity(0))
    if not 1 < count <= len(cores):
        return
    busiest = sorted(_cpu_times().items(), key=lambda item: -item[1])[:count]
    for core, (thread, _) in zip(cores, busiest, strict=False):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(thread, {core})
    for thread, _ in busiest:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(thread, cores)


def _cpu_times() -> dict[int, int]:
    """Return nanoseconds on a core by thread; empty where the kernel does not say."""
    found = {}
    with contextlib.suppress(OSError):
        for thread in _TASKS.iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                found[int(thread.name)] = int((thread / "schedstat").read_bytes().split()[0])
    return found
