"""Let a measuring process go before other programs where the user may, so that it is not interrupted by them."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from pathlib import Path

LIBRARIES = "libraries"
"""Threads wait as their libraries have it; the priority is what the process was started with."""
_HIGHEST = -20
_AUTOGROUP = Path("/proc/self/autogroup")
_ENABLED = Path("/proc/sys/kernel/sched_autogroup_enabled")
_KERNEL_PAUSE_S = 0.15


def raise_priority() -> str:
    """Raise the priority of this process as far as its rights go; return the policy that is in effect.

    Sessions share the CPU as wholes where the kernel groups them (autogroup), so that the priority of a process counts
    within its own session only; the session's own is raised too, and where it cannot be, the priority stays as it is.
    Never a real-time priority: a thread that spins would starve the one it waits for.
    """
    wanted = _allowed()
    if wanted < 0 and _raise_session(wanted):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, min(wanted, os.getpriority(os.PRIO_PROCESS, 0)))
    actual = os.getpriority(os.PRIO_PROCESS, 0)
    return f"{LIBRARIES}, nice {actual}" if actual < 0 else LIBRARIES


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
