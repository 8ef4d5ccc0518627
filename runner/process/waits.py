"""How long the threads of this process waited for a core, as the kernel tells without any right (Linux)."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

_TASKS = Path("/proc/self/task")
_LINE_BYTES = 96
"""A line of `schedstat`: nanoseconds on a core, nanoseconds waited for one, number of turns on a core."""
_NANOSECOND = 1e-9


@dataclass(frozen=True, kw_only=True)
class Waited:
    """What the threads of a process waited between two readings, seconds."""

    largest_s: float
    """Wait of the thread that waited most: parallel work goes on when the last thread is done."""
    all_s: float


@dataclass
class Waits:
    """Reads `/proc/self/task/TID/schedstat` of every thread; its descriptors stay open: about 1 µs a thread."""

    tasks: Path = _TASKS
    _descriptors: dict[int, int] = field(default_factory=dict)

    def read(self) -> dict[int, int]:
        """Return nanoseconds waited by thread; empty where the kernel does not tell."""
        found = {}
        with contextlib.suppress(OSError):
            for name in os.listdir(self.tasks):  # noqa: PTH208 - a list of names is what is wanted, and fast
                waited = self._waited_ns(int(name))
                if waited is not None:
                    found[int(name)] = waited
        return found

    def _waited_ns(self, thread: int) -> int | None:
        for _ in range(2):  # a descriptor of an ended thread of the same number is opened once more
            try:
                if thread not in self._descriptors:
                    path = self.tasks / str(thread) / "schedstat"
                    self._descriptors[thread] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                return int(os.pread(self._descriptors[thread], _LINE_BYTES, 0).split()[1])
            except (OSError, IndexError, ValueError):
                self._forget(thread)
        return None

    def _forget(self, thread: int) -> None:
        descriptor = self._descriptors.pop(thread, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def between(self, before: dict[int, int], after: dict[int, int]) -> Waited | None:
        """Return what was waited between two readings.

        A thread that was born meanwhile counts from zero. One that ended makes it unknown, as nobody can tell any more
        how long it had waited: None, as where the kernel tells nothing.
        """
        gone = before.keys() - after.keys()
        for thread in gone:
            self._forget(thread)
        if gone or not after:
            return None
        waits = [max(0, after[thread] - before.get(thread, 0)) * _NANOSECOND for thread in after]
        return Waited(largest_s=max(waits), all_s=sum(waits))
