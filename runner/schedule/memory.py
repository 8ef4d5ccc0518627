"""Memory of a benchmark process and of the machine, watched so that one model cannot take a whole batch with it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from runner.environments.proc import KernelFiles
from runner.failure import LESS_MEMORY
from store.errors import Signal

LEAST_AVAILABLE = 0.03
"""Share of the machine's memory that has to stay available; below it the kernel would choose a process to kill."""
LEAST_HELD = LEAST_AVAILABLE
"""Share of it that a process tree has to hold to be ended for that: a smaller one is not what fills the machine."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_UNITS = ((30, "GiB"), (20, "MiB"), (10, "KiB"))


class MemoryExceeded(Signal):
    """A process tree holds more than it may; the message says how much, which limit, and what to do."""

    kind = "MemoryLimit"
    """Type of the error in the record."""


class MachineFull(MemoryExceeded):
    """All processes of the machine together hold too much."""

    kind = "MachineMemory"


def check_memory(
    pid: int,
    limit_bytes: int | None,
    *,
    least_available: float = LEAST_AVAILABLE,
    least_held: float = LEAST_HELD,
) -> None:
    """Raise `MemoryExceeded` where the tree of `pid`, or it and all other processes together, hold too much."""
    available, total = machine_memory()
    if available < least_available * total and (held := tree_bytes(pid)) >= least_held * total:
        raise MachineFull(
            f"its processes held {readable_bytes(held)} when only {readable_bytes(available)} of the machine's "
            f"{readable_bytes(total)} of memory were left; {LESS_MEMORY}"
        )
    # Resident pages count shared ones for each process: an upper bound that costs little to read.
    if limit_bytes is None or sum(map(_resident_bytes, tree(pid))) <= limit_bytes:
        return
    if (held := tree_bytes(pid)) > limit_bytes:
        raise MemoryExceeded(
            f"its processes held {readable_bytes(held)} of memory, more than --memory-limit "
            f"{readable_bytes(limit_bytes)}; raise the limit, or use a smaller batch (--batch-size)"
        )


def tree(pid: int) -> list[int]:
    """Return a process and its living descendants; reads their own entries only, not the whole process table."""
    return KernelFiles().tree(pid) or [pid]


def tree_bytes(pid: int) -> int:
    """Return what a tree holds: a page that n processes share, the fork server among them, counts 1/n in each."""
    return sum(map(_proportional_bytes, tree(pid)))


def machine_memory() -> tuple[int, int]:
    """Return what is available on the machine and what it has, bytes."""
    return KernelFiles().memory_bytes()


def readable_bytes(number: int) -> str:
    """Return bytes as people say them: `1.5 GiB`."""
    for shift, unit in _UNITS:
        if number >= 1 << shift:
            return f"{number / (1 << shift):.4g} {unit}"
    return f"{number} bytes"


def _resident_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return 0


def _proportional_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
