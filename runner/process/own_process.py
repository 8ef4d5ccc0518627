"""What a benchmark process does to itself and reads of itself: priority, waits, memory, and stops (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import re
import resource
import struct
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store.record import NEUTRAL

# Priority: the process goes before other programs where the user may let it.

LIBRARIES = "libraries"
"""The environment leaves the libraries as they are; the priority is what the process was started with."""
_HIGHEST = -20
_AUTOGROUP = Path("/proc/self/autogroup")
_ENABLED = Path("/proc/sys/kernel/sched_autogroup_enabled")
_KERNEL_PAUSE_S = 0.15


def with_variables(policy: str, variables: Mapping[str, str]) -> str:
    """Return a policy with the variables, if any is set, by which the environment changes how the libraries work.

    Args:
        policy: as `raise_priority` returns it.
        variables: of the environment in which the libraries were loaded; names in lower case are no variables.
    """
    values = {name: "".join(value.split()).upper() for name, value in variables.items() if name.isupper()}
    given = sorted(f"{name}={value}" for name, value in values.items() if value and not re.search(NEUTRAL, name))
    return policy.replace(LIBRARIES, ", ".join(given), 1) if given else policy


def raise_priority() -> str:
    """Raise the priority of this process as far as its rights go; return the policy that is in effect.

    Sessions share the CPU as wholes where the kernel groups them (autogroup), so that the priority of a process counts
    within its own session only; the session's own is raised too, and where it cannot be, the priority stays as it is.
    Never a real-time priority: a thread that spins would starve the one it waits for.

    A thread that wakes still waits until the program on its core has used its slice (1.4 ms on this kernel). With a
    shorter slice of its own, which threads inherit, it does not (Linux 6.12; earlier kernels ignore it).
    """
    wanted = _allowed()
    if wanted < 0 and _raise_session(wanted):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, min(wanted, os.getpriority(os.PRIO_PROCESS, 0)))
    actual = os.getpriority(os.PRIO_PROCESS, 0)
    if actual >= 0:
        return LIBRARIES
    policy = f"{LIBRARIES}, nice {actual}, computing threads bound"
    return policy + (", slice 0.1 ms" if _shorten_slice(actual) == _SLICE_NS else "")


_SLICE_NS = 100_000
"""The shortest that the kernel takes."""
_SCHED_SETATTR, _SCHED_GETATTR = {"x86_64": (314, 315), "aarch64": (274, 275)}.get(os.uname().machine, (0, 0))
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""`struct sched_attr`: size, policy, flags, nice, priority, runtime (a normal policy's slice), deadline, period."""


def _shorten_slice(nice: int) -> int | None:
    """Shorten the scheduler's slice of this thread and of those it starts; return the one in effect.

    Args:
        nice: the thread's nice value, which the system call sets as well.
    """
    if _SCHED_SETATTR:
        wanted = _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, 0, nice, 0, _SLICE_NS, 0, 0)  # policy 0 is the normal one
        ctypes.CDLL(None).syscall(_SCHED_SETATTR, 0, wanted, 0)
    return slice_ns()


def slice_ns() -> int | None:
    """Return nanoseconds of this thread's slice; None where the kernel does not say (0 before Linux 6.12)."""
    read = ctypes.create_string_buffer(_ATTRIBUTES.size)
    if not _SCHED_GETATTR or ctypes.CDLL(None).syscall(_SCHED_GETATTR, 0, read, _ATTRIBUTES.size, 0):
        return None
    return int(_ATTRIBUTES.unpack(read.raw)[5])


def _allowed() -> int:
    """Return the highest priority that the user may set: a nice value, lower is higher."""
    if os.geteuid() == 0:
        return _HIGHEST
    # RLIMIT_NICE counts from 1 (nice 19) to 40 (nice -20).
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    return max(_HIGHEST, 20 - limit) if limit != resource.RLIM_INFINITY else _HIGHEST


def _raise_session(nice: int) -> bool:
    """Raise the session's share of the CPU where sessions have one; say whether a process's priority counts now."""
    if not _AUTOGROUP.exists():
        return True
    try:
        if _ENABLED.read_text(encoding="ascii").strip() != "1":
            return True
        try:
            _AUTOGROUP.write_text(str(nice), encoding="ascii")
        except BlockingIOError:  # the kernel takes one change in a tenth of a second from those who are not root
            time.sleep(_KERNEL_PAUSE_S)
            _AUTOGROUP.write_text(str(nice), encoding="ascii")
    except OSError:
        return False
    return True


# Waits: how long its threads waited for a core, as the kernel reports it to any user.

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
    dispatched: int
    """How often the thread got a core that got one most often: when it woke, or after another had used the core."""


@dataclass
class Waits:
    """Reads `/proc/self/task/TID/schedstat` of every thread; its descriptors stay open: about 1 µs a thread."""

    tasks: Path = _TASKS
    _descriptors: dict[int, int] = field(default_factory=dict)

    def read(self) -> dict[int, tuple[int, int]]:
        """Return by thread the nanoseconds waited and how often it got a core; empty where the kernel does not tell."""
        read = {}
        with contextlib.suppress(OSError):
            for name in os.listdir(self.tasks):  # noqa: PTH208 - a list of names is what is wanted, and fast
                numbers = self._numbers(int(name))
                if numbers is not None:
                    read[int(name)] = numbers
        return read

    def _numbers(self, thread: int) -> tuple[int, int] | None:
        for _ in range(2):  # a descriptor of an ended thread of the same number is opened once more
            try:
                if thread not in self._descriptors:
                    path = self.tasks / str(thread) / "schedstat"
                    self._descriptors[thread] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                _, waited_ns, dispatched = os.pread(self._descriptors[thread], _LINE_BYTES, 0).split()
                return int(waited_ns), int(dispatched)
            except (OSError, ValueError):
                self._forget(thread)
        return None

    def _forget(self, thread: int) -> None:
        descriptor = self._descriptors.pop(thread, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def between(self, before: dict[int, tuple[int, int]], after: dict[int, tuple[int, int]]) -> Waited | None:
        """Return what was waited between two readings.

        A thread that was born meanwhile counts from zero. One that ended makes the sum unknown (None), because
        its waiting can no longer be read; so does a kernel that reports nothing.
        """
        gone = before.keys() - after.keys()
        for thread in gone:
            self._forget(thread)
        if gone or not after:
            return None
        earlier = [before.get(thread, (0, 0)) for thread in after]
        waits = [max(0, new[0] - old[0]) * _NANOSECOND for old, new in zip(earlier, after.values(), strict=True)]
        dispatched = max(new[1] - old[1] for old, new in zip(earlier, after.values(), strict=True))
        return Waited(largest_s=max(waits), all_s=sum(waits), dispatched=dispatched)


# Settings of the whole process that an iteration can change, and restore before anybody looks.


def values_set(name: str) -> set[Any]:
    """Return the values with which this process calls a function of torch that sets something, from now on."""
    import torch

    plain, values = getattr(torch, name), set[Any]()
    if not hasattr(plain, "values_set"):

        @functools.wraps(plain)
        def noted(*args: Any, **kwargs: Any) -> Any:
            values.update(args, kwargs.values())
            return plain(*args, **kwargs)

        setattr(noted, "values_set", values)  # noqa: B010 - mypy knows no attributes of functions
        setattr(torch, name, noted)
    found: set[Any] = getattr(torch, name).values_set
    found.clear()
    return found


# Stops: what is done before one, so that nothing hangs on the process while others are measured.

_LOCKS = Path("/proc/locks")
_PID_FIELD = 4
_PATIENCE_S = 1.0
_LOOK_EVERY_S = 0.02


def settle() -> int:
    """End helpers, collect garbage, wait for file locks to go; return how many are held all the same."""
    # Inductor's processes, which a new compilation would start again; what is not in use is not imported.
    if (compiling := sys.modules.get("torch._inductor.async_compile")) is not None:
        compiling.shutdown_compile_workers()
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


# Resident memory, with a high-water mark that can be reset.

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
_KIB = 1024


def _field_bytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * _KIB
    raise OSError(f"{_STATUS} has no field {name}")


def resident_bytes() -> int:
    """Return the present resident size."""
    return _field_bytes("VmRSS")


def peak_bytes() -> int:
    """Return the highest resident size since the last reset."""
    return _field_bytes("VmHWM")


def reset_peak() -> None:
    """Set the high-water mark to the present size."""
    _CLEAR_REFS.write_text(_RESET_PEAK)
