"""Cores of a benchmark process: each thread that computes gets its own, and no other program pushes two onto one."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_TASKS = Path("/proc/self/task")
LEAST_BUSY_S = 0.02
"""Seconds after which a turn shows which threads compute: some ticks of the kernel, at which it books their time."""


@dataclass
class CoreBinding:
    """Binds the threads that compute to different cores.

    Threads that are woken together (SIGCONT) land on the one core that no other program uses, and a pool stays there:
    its threads wait for each other although a core with a program of lower priority is theirs to take. Moved apart
    without being bound, they come together again.
    """

    cores: Sequence[int]
    """Cores that the process may use."""
    _bound: dict[int, int] = field(default_factory=dict)
    """Core of each thread that is bound."""
    _cpu_ns: dict[int, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Start counting what each thread computes: a turn's blocks alone show it, as building a model took longer."""
        self._cpu_ns = _cpu_times()

    def bind(self, count: int) -> None:
        """Bind the threads that computed most since the last `begin`; release those that were bound before.

        Args:
            count: threads that compute at the same time; where they are more than the cores, all are left where they
                are.
        """
        if not 1 < count <= len(self.cores):
            return
        busiest = self._busiest(count)
        for thread in self._bound.keys() - busiest:
            _set_cores(thread, self.cores)
        self._bound = dict(zip(sorted(busiest), self.cores, strict=False))
        for thread, core in self._bound.items():
            _set_cores(thread, [core])

    def holds(self) -> bool:
        """Say whether the threads that computed most since the last `begin` are those that are bound."""
        return bool(self._bound) and self._busiest(len(self._bound)) == self._bound.keys()

    def _busiest(self, count: int) -> set[int]:
        spent_ns = {thread: spent - self._cpu_ns.get(thread, 0) for thread, spent in _cpu_times().items()}
        return set(sorted(spent_ns, key=lambda thread: -spent_ns[thread])[:count])

    def of_this_thread(self) -> set[int]:
        """Return the cores that this thread has, unless a model's code has set others."""
        core = self._bound.get(threading.get_native_id())
        return set(self.cores) if core is None else {core}


def give_back_cores(cores: Collection[int]) -> int | None:
    """Let this thread, and those that have inherited its cores, use these; return how many it had, None: the same."""
    had = os.sched_getaffinity(0)
    if had == set(cores):
        return None
    for thread in [int(task.name) for task in _TASKS.iterdir()]:
        with contextlib.suppress(OSError):
            if os.sched_getaffinity(thread) == had:
                os.sched_setaffinity(thread, cores)
    return len(had)


def _set_cores(thread: int, cores: Sequence[int]) -> None:
    with contextlib.suppress(OSError):  # the thread has ended
        os.sched_setaffinity(thread, cores)


def _cpu_times() -> dict[int, int]:
    """Return nanoseconds on a core by thread; empty where the kernel does not say."""
    cpu_ns = {}
    with contextlib.suppress(OSError):
        for thread in _TASKS.iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                cpu_ns[int(thread.name)] = int((thread / "schedstat").read_bytes().split()[0])
    return cpu_ns
