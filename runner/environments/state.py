"""What the machine did while a process was timed: the record's `machine`, so that a doubt can be checked later."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass

from runner.environments import others, proc
from runner.environments.proc import Ticks
from store.record import MachineState

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
            own=None if pids is None else self._machine.ticks_of(pids),
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
            [*_SMI, "-i", others.gpu_number(device_index)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
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
