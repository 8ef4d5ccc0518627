"""Counters of the running machine, read from `/proc` and `/sys` (Linux); None where they are not there."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MAX_CPUS = 32
"""CPUs that are looked at: each file costs some ten microseconds, and a snapshot at most a few milliseconds."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STAT_NAME_END = b") "
_UTIME = 11
"""Index of utime in the fields after the process's name; the other three follow."""


@dataclass(frozen=True)
class Ticks:
    """CPU time since the boot, in ticks, summed over CPUs."""

    busy: int
    """CPU time of processes; interrupts belong to no process and are left out."""
    steal: int
    total: int
    cpus: int
    """Number of CPUs of the machine."""


@dataclass(frozen=True)
class KernelFiles:
    """The files of a machine; tests give other folders."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")

    def ticks(self, cpus: Collection[int] | None = None) -> Ticks | None:
        """Return the CPU time of the machine, or of some of its CPUs."""
        lines = [line.split() for line in text(self.proc / "stat").splitlines() if line.startswith("cpu")]
        wanted = {"cpu"} if cpus is None else {f"cpu{cpu}" for cpu in cpus}
        # user, nice, system, idle, iowait, irq, softirq, steal
        rows = [[int(word) for word in words[:8]] for name, *words in lines if name in wanted]
        if not rows:
            return None
        return Ticks(
            sum(sum(row[:3]) for row in rows), sum(row[7] for row in rows), sum(map(sum, rows)), len(lines) - 1
        )

    def is_own(self, name: str) -> bool:
        """Say whether a file is the kernel's: in some containers, one of another file system is in its place."""
        with suppress(OSError):
            return (self.proc / name).stat().st_dev == self.proc.stat().st_dev
        return False

    def load(self) -> float | None:
        """Return the load average of the last minute."""
        words = text(self.proc / "loadavg").split()
        return float(words[0]) if words else None

    def tree(self, root: int) -> list[int] | None:
        """Return a process and its descendants; None where the kernel lists no children."""
        if not (self.proc / str(root) / "task" / str(root) / "children").exists():
            return None
        pids, waiting = [], [root]
        while waiting:
            pid = waiting.pop()
            pids.append(pid)
            # The process may end while it is looked at.
            with suppress(OSError):
                for thread in (self.proc / str(pid) / "task").iterdir():
                    waiting += [int(word) for word in text(thread / "children").split()]
        return pids

    def times_of(self, pid: int) -> list[int]:
        """Return utime, stime, cutime and cstime of a process in ticks; nothing where it is gone."""
        with suppress(OSError):
            words = (self.proc / str(pid) / "stat").read_bytes().rpartition(_STAT_NAME_END)[2].split()
            return [int(word) for word in words[_UTIME : _UTIME + 4]]
        return []

    def memory_bytes(self) -> tuple[int, int]:
        """Return the available and the total memory of the machine."""
        facts = _facts(self.proc / "meminfo")
        return facts["MemAvailable"] * 1024, facts["MemTotal"] * 1024

    def swap_used_bytes(self) -> int | None:
        """Return what lies in swap."""
        facts = _facts(self.proc / "meminfo")
        return (facts["SwapTotal"] - facts["SwapFree"]) * 1024 if {"SwapTotal", "SwapFree"} <= facts.keys() else None

    def swap_traffic_bytes(self) -> int | None:
        """Return what was written to and read from swap since the boot."""
        facts = _facts(self.proc / "vmstat")
        return (facts["pswpin"] + facts["pswpout"]) * _PAGE_BYTES if {"pswpin", "pswpout"} <= facts.keys() else None

    def throttle_events(self, cpus: list[int]) -> int | None:
        """Return how often these CPUs, or the package of the first, were slowed down for heat since the boot."""
        names = [f"cpu{cpu}/thermal_throttle/core_throttle_count" for cpu in cpus]
        names += [f"cpu{cpu}/thermal_throttle/package_throttle_count" for cpu in cpus[:1]]
        known = [count for name in names if (count := self._cpu_file(name)) is not None]
        return sum(known) if known else None

    def governor(self, cpus: list[int]) -> str | None:
        """Return the frequency governors of these CPUs, as `performance`."""
        governors = {text(self._path(f"cpu{cpu}/cpufreq/scaling_governor")).strip() for cpu in cpus} - {""}
        return ", ".join(sorted(governors)) or None

    def frequency_hz(self, cpus: list[int], which: str) -> float | None:
        """Return the mean frequency of these CPUs; `which` is `cur`, `min` or `max`."""
        frequencies = [
            hz for cpu in cpus if (hz := self._cpu_file(f"cpu{cpu}/cpufreq/scaling_{which}_freq")) is not None
        ]
        return sum(frequencies) / len(frequencies) * 1e3 if frequencies else None

    def turbo(self) -> bool | None:
        """Say whether the CPU may go above its nominal frequency."""
        off, on = self._cpu_file("intel_pstate/no_turbo"), self._cpu_file("cpufreq/boost")
        return not off if off is not None else bool(on) if on is not None else None

    def _path(self, name: str) -> Path:
        return self.sys / "devices/system/cpu" / name

    def _cpu_file(self, name: str) -> int | None:
        content = text(self._path(name)).strip()
        return int(content) if content.isdigit() else None


def usable_cpus() -> list[int]:
    """Return the CPUs that this process may use, the first `MAX_CPUS` of them."""
    return sorted(os.sched_getaffinity(0))[:MAX_CPUS]


def text(path: Path) -> str:
    """Return the text of a file of the kernel; nothing where it is not there."""
    with suppress(OSError):
        return path.read_text(encoding="ascii", errors="replace")
    return ""


def _facts(path: Path) -> dict[str, int]:
    """Return the numbers of a file of lines `name value` or `name: value kB`."""
    rows = [line.replace(":", " ").split() for line in text(path).splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
