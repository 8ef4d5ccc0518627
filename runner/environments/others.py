"""What else happens on the CPUs and the GPU of a run, over short windows and while a process is timed (Linux)."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from runner.accelerators.cuda import index_of
from runner.environments import proc
from runner.environments.proc import Ticks
from store.record import MachineState

WINDOW_S = 0.5
"""The kernel counts the machine's CPU time in hundredths of a second: over half a second one count is 2 % of a CPU."""
_LEAST_WINDOW_S = 0.1
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_CGROUP_FILES = ("cpu/cpu.stat", "cpu,cpuacct/cpu.stat", "cpu.stat")
_MAX_PROGRAMS = 3
_NOTABLE_CPUS = 0.05
_FLAGS, _IS_KERNEL = 6, 0x0020_0000
"""Word of proc_pid_stat(5) after a process's name that holds its flags; the flag of the kernel's own threads."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What others took over a window that ends now; None where the kernel does not tell."""

    cpus: float | None
    """CPUs that they kept busy: 1.0 is one whole CPU."""
    steal_share: float | None
    """CPU time of other virtual machines, as a share of all."""
    throttled_s: float
    """How long a quota of the container kept this run from the CPUs."""


@dataclass(frozen=True, kw_only=True)
class _Reading:
    at: float
    ticks: proc.Ticks | None
    """Counters of the CPUs that this process may use."""
    own_s: float
    throttled_s: float


@dataclass
class Others:
    """Reads the counters when it is asked to look, and compares them with those of half a second before."""

    machine: proc.KernelFiles = field(default_factory=proc.KernelFiles)
    root: int = field(default_factory=os.getpid)
    """This process and all below it are the run."""
    sees_machine: bool = True
    """Whether the counters are the machine's: a container (LXC) may have a file of its own in their place."""
    _readings: deque[_Reading] = field(default_factory=deque)
    _quota_files: Sequence[Path] = ()

    def __post_init__(self) -> None:
        # A quota may lie on the run's own group or on any above it, as on the slice of a user.
        root = self.machine.sys / "fs/cgroup"
        own = [line.split(":", 2)[1:] for line in proc.text(self.machine.proc / "self/cgroup").splitlines()]
        groups = [(controllers, Path(group.strip("/"))) for controllers, group in own]
        above = [root / controllers / each for controllers, group in groups for each in (group, *group.parents)]
        files = [*(group / "cpu.stat" for group in above), *(root / name for name in _CGROUP_FILES)]
        self._quota_files = [path for path in dict.fromkeys(files) if "throttled" in proc.text(path)]
        self.sees_machine = self.machine.is_own("stat")
        self._readings.append(self._read())

    def look(self) -> Taken:
        """Read the counters; return what others took since the reading that is at least `WINDOW_S` old.

        A look within a tenth of a second after the first reading reports nothing.
        """
        now = self._read()
        while len(self._readings) > 1 and now.at - self._readings[1].at >= WINDOW_S:
            self._readings.popleft()
        before = self._readings[0]
        self._readings.append(now)
        throttled = now.throttled_s - before.throttled_s
        seconds = now.at - before.at
        total = now.ticks.total - before.ticks.total if now.ticks and before.ticks else 0
        # A sandbox may show counters that stand still (gVisor).
        if seconds < _LEAST_WINDOW_S or now.ticks is None or before.ticks is None or total <= 0:
            return Taken(cpus=None, steal_share=None, throttled_s=throttled)
        others = (now.ticks.busy - before.ticks.busy) / _TICKS_PER_S - (now.own_s - before.own_s)
        return Taken(
            cpus=max(0.0, others / seconds),
            steal_share=(now.ticks.steal - before.ticks.steal) / total,
            throttled_s=throttled,
        )

    def _read(self) -> _Reading:
        return _Reading(
            at=time.monotonic(),
            ticks=self.machine.ticks(os.sched_getaffinity(0)),
            own_s=sum(map(_cpu_s, self.machine.tree(self.root) or [self.root])),
            throttled_s=self._throttled_s(),
        )

    def _throttled_s(self) -> float:
        """Return how long quotas have kept the run's control group, and those above it, from the CPUs."""
        throttled_s = 0.0
        for path in self._quota_files:
            facts = dict(line.split()[:2] for line in proc.text(path).splitlines() if " " in line)
            # Version 2 of control groups counts microseconds, version 1 nanoseconds.
            throttled_s += int(facts.get("throttled_usec", 0)) * 1e-6 + int(facts.get("throttled_time", 0)) * 1e-9
        return throttled_s


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process, exact to the nanosecond, and of the children that it has waited for."""
    seconds = 0.0
    with contextlib.suppress(OSError):
        # The clock of another process, as clock_getcpuclockid(3) names it.
        seconds += time.clock_gettime((~pid << 3) | 2)
    return seconds + sum(proc.KernelFiles().times_of(pid)[2:]) / _TICKS_PER_S


def programs(seconds: float = 0.25, root: int | None = None) -> list[str]:
    """Return short names of the programs that use the CPUs most and are not this run's; never their arguments.

    Args:
        seconds: how long they are watched.
        root: pid of the run's first process; None: this one.
    """
    own = set(proc.KernelFiles().tree(root or os.getpid()) or ())
    before = _cpu_times(own)
    time.sleep(seconds)
    used: dict[str, float] = {}
    for pid, (name, now) in _cpu_times(own).items():
        if pid in before:
            used[name] = used.get(name, 0.0) + now - before[pid][1]
    busy = sorted((name for name in used if used[name] >= _NOTABLE_CPUS * seconds), key=lambda name: -used[name])
    return busy[:_MAX_PROGRAMS]


def _cpu_times(own: set[int]) -> dict[int, tuple[str, float]]:
    times = {}
    for pid in psutil.pids():
        if pid not in own:
            with contextlib.suppress(OSError):
                times[pid] = _name(pid), time.clock_gettime((~pid << 3) | 2)
    return times


def _name(pid: int) -> str:
    """Return the kernel's own name of a process, which is short; psutil may take a longer one from its arguments.

    The kernel's many threads have one name, as nobody can close one of them.
    """
    name, _, facts = proc.text(Path("/proc") / str(pid) / "stat").partition("(")[2].rpartition(") ")
    if int((facts.split() or ["0"] * 7)[_FLAGS]) & _IS_KERNEL:
        return "kernel threads"
    # A program may call itself as it likes, and its name is printed to terminals.
    return "".join(character if character.isprintable() else "?" for character in name) or "?"


# The use of an NVIDIA GPU by other processes, and whether its clocks are held down, from NVML.


SAMPLE_LATE_S = 1.2
"""NVML's samples of who used a GPU come up to a second late, and a turn may last 10 ms."""
_ASK_EVERY_S = 0.05
GPU_SHARE = 0.05
"""Share of the GPU's time that other processes may use, as for CPUs."""
_SLOWDOWN = 0x8
_THERMAL, _THERMAL_HARDWARE = 0x20, 0x40
_POWER_BRAKE = 0x80
CLOCK_LIMITS = _SLOWDOWN | _THERMAL | _THERMAL_HARDWARE | _POWER_BRAKE
"""Bits of NVML's reasons for lower clocks that count: heat and brakes of the hardware. The power cap that a model's own
work reaches is no disturbance, and neither are clocks that the administrator has set."""


def gpu_number(index: int | None) -> str:
    """Return the index by which NVIDIA's tools know the GPU that a process sees under an index.

    A MIG instance has no index, so it is known by its UUID.
    """
    index = index or 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").replace(" ", "").split(",")
    word = visible[index] if index < len(visible) and visible[index] else str(index)
    return word if word.isdigit() else index_of(word)


@dataclass(frozen=True, kw_only=True)
class GpuUse:
    """What happened on the GPU since the look before; None where NVML reports nothing."""

    others_share: float | None
    """Largest share of one of NVML's sampling periods in which kernels of a process outside this run were at work."""
    slowed: bool | None
    """Whether heat or a power brake holds its clocks down now."""


@dataclass
class Gpu:
    """One GPU; `look` is called between turns and takes less than a millisecond if it does not wait."""

    number: str
    """Its index in the order of PCI buses, or its UUID."""
    root: int = field(default_factory=os.getpid)
    """This process and all below it are the run."""
    nvml: Any = None
    """Module `pynvml`; None if it, the driver or the device is missing: then nothing is known."""
    machine: proc.KernelFiles = field(default_factory=proc.KernelFiles)
    _device: Any = None
    _seen_us: int = 0

    def __post_init__(self) -> None:
        with contextlib.suppress(Exception):  # of the library, the driver or the device
            self.nvml = self.nvml or importlib.import_module("pynvml")
            self.nvml.nvmlInit()
            by = self.nvml.nvmlDeviceGetHandleByIndex if self.number.isdigit() else self.nvml.nvmlDeviceGetHandleByUUID
            self._device = by(int(self.number) if self.number.isdigit() else self.number)

    def look(self, *, wait: bool = False) -> GpuUse:
        """Return what has happened since the look before; the first one covers the driver's last second.

        Args:
            wait: until NVML tells of this moment, if another process is on the GPU.
        """
        if self._device is None:
            return GpuUse(others_share=None, slowed=None)
        return GpuUse(others_share=self._others_share(wait=wait), slowed=self._slowed())

    def _others_share(self, *, wait: bool) -> float | None:
        now_us, own = time.time() * 1e6, set(self.machine.tree(self.root) or ())
        waits = wait and self._is_shared(own)
        deadline = time.monotonic() + (SAMPLE_LATE_S if waits else 0.0)
        share, unknown = 0.0, False
        while True:
            samples = self._new_samples()
            if samples is None:
                return None
            # Outside a container the same process has another number, which is unknown here: then nothing is known.
            known = [sample for sample in samples if _is_here(sample.pid)]
            unknown = unknown or len(samples) > len(known) == 0
            theirs = [sample for sample in known if sample.pid not in own]
            share = max([share, *(sample.smUtil / 100 for sample in theirs)])
            # A later sample of the run's own kernels tells nothing of the others: theirs may still be missing.
            if any(sample.timeStamp >= now_us for sample in theirs) or time.monotonic() >= deadline:
                break
            time.sleep(_ASK_EVERY_S)
        if waits and share < GPU_SHARE:
            # The run has computed nothing while it waited, so what the GPU does now is the others' work.
            share = max(share, self._busy_share() or 0.0)
        return None if unknown and not share else share

    def _is_shared(self, own: set[int]) -> bool:
        """Tell whether a process outside the run can compute on the GPU."""
        there = self._ask("nvmlDeviceGetComputeRunningProcesses")
        return any(process.pid not in own and _is_here(process.pid) for process in there or ())

    def _new_samples(self) -> list[Any] | None:
        """Return what NVML has sampled since it was last asked; None: it cannot tell."""
        try:
            samples = self.nvml.nvmlDeviceGetProcessUtilization(self._device, self._seen_us)
        except self.nvml.NVMLError as error:
            # No sample since then: no process has used it. Other errors come from devices without this counter.
            return [] if getattr(error, "value", None) == self.nvml.NVML_ERROR_NOT_FOUND else None
        self._seen_us = max((sample.timeStamp for sample in samples), default=self._seen_us)
        return list(samples)

    def _busy_share(self) -> float | None:
        """Return the share of NVML's last sampling period, a second at most, in which any kernel was at work."""
        rates = self._ask("nvmlDeviceGetUtilizationRates")
        return None if rates is None else float(rates.gpu) / 100

    def _slowed(self) -> bool | None:
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        return None if reasons is None else bool(reasons & CLOCK_LIMITS)

    def _ask(self, function: str) -> Any:
        """Return what NVML answers about the device; None: it cannot tell."""
        try:
            return getattr(self.nvml, function)(self._device)
        except self.nvml.NVMLError:
            return None


def _is_here(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


# What the machine did while a process was timed: the record's `machine`, so that a doubt can be checked later.


MIN_TICKS = 100
"""Under a second of CPU time on all CPUs together, shares of it rest on single ticks: none is given."""
_SMI = ("nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader")
_SMI_PATIENCE_S = 10


@dataclass(frozen=True, kw_only=True)
class _Counters:
    """Counters that only grow."""

    at: float
    ticks: Ticks | None
    own: int | None
    """Ticks of this process and all below it."""
    throttle_events: int | None
    swap_traffic_bytes: int | None


class MachineWatch:
    """Watches the machine from its making to `end`; each takes a few milliseconds at most.

    A vendor's tool lists the other users of the accelerator; it runs in parallel and is done before a model has been
    loaded.
    """

    def __init__(
        self,
        accelerator: str | None = None,
        device_index: int | None = None,
        *,
        machine: proc.KernelFiles | None = None,
        root: int | None = None,
    ) -> None:
        self._machine = machine or proc.KernelFiles()
        self._root = os.getpid() if root is None else root
        self._cpus = proc.usable_cpus()
        self._load = self._machine.load()
        self._own_pids = set(self._machine.tree(self._root) or ())
        self._smi = _query(device_index) if accelerator == "cuda" else None
        self._begin = self._count()

    def end(self) -> MachineState:
        """Return what has happened since this watch was made."""
        machine, before, now = self._machine, self._begin, self._count()
        others, steal = _shares(before, now)
        return MachineState(
            seconds=now.at - before.at,
            cpus=now.ticks.cpus if now.ticks else None,
            load_start=self._load,
            load_end=machine.load(),
            others_share=others,
            steal_share=steal,
            governor=machine.governor(self._cpus),
            frequency_hz=machine.frequency_hz(self._cpus, "cur"),
            frequency_min_hz=machine.frequency_hz(self._cpus[:1], "min"),
            frequency_max_hz=machine.frequency_hz(self._cpus[:1], "max"),
            turbo=machine.turbo(),
            throttle_events=_grown(before.throttle_events, now.throttle_events),
            swap_used_bytes=machine.swap_used_bytes(),
            swap_traffic_bytes=_grown(before.swap_traffic_bytes, now.swap_traffic_bytes),
            accelerator_processes=None if self._smi is None else _other_processes(self._smi, self._own_pids),
        )

    def _count(self) -> _Counters:
        pids = self._machine.tree(self._root)
        return _Counters(
            at=time.monotonic(),
            ticks=self._machine.ticks(),
            own=None if pids is None else sum(sum(self._machine.times_of(pid)) for pid in pids),
            throttle_events=self._machine.throttle_events(self._cpus),
            swap_traffic_bytes=self._machine.swap_traffic_bytes(),
        )


def _shares(before: _Counters, now: _Counters) -> tuple[float | None, float | None]:
    """Return which shares of the CPU time other processes and other virtual machines took."""
    if before.ticks is None or now.ticks is None:
        return None, None
    total = now.ticks.total - before.ticks.total
    if total < MIN_TICKS:
        return None, None
    steal = (now.ticks.steal - before.ticks.steal) / total
    if before.own is None or now.own is None:
        return None, steal
    # The machine counts by sampling and its processes exactly, so their difference can fall below 0.
    others = max(0, now.ticks.busy - before.ticks.busy - (now.own - before.own))
    return others / total, steal


def _grown(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else max(0, now - before)


def _query(device_index: int | None) -> subprocess.Popen[str] | None:
    """Start the tool that lists the users of the device; None where it is missing."""
    try:
        return subprocess.Popen(
            [*_SMI, "-i", gpu_number(device_index)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    except OSError:
        return None


def _other_processes(smi: subprocess.Popen[str], own: set[int]) -> int | None:
    """Count the processes on the device that are not this run's."""
    try:
        out, _ = smi.communicate(timeout=_SMI_PATIENCE_S)
    except subprocess.TimeoutExpired:
        smi.kill()
        smi.communicate()
        return None
    words = out.split()
    if smi.returncode != 0 or not all(word.isdigit() for word in words):
        return None
    return len({int(word) for word in words} - own)
