"""What carries attempts out: this machine, or a cluster. The table is the record of jobs; an executor holds none.

Each call may be the first after a crash of the worker, so an executor finds an attempt again by its ticket alone, and
a call that is repeated has its effect once.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from runner import processes
from runner.environments import machine
from runner.home import settings_file
from runner.home.settings_file import SECRETS
from runner.jobs.folder import VARIABLE, AttemptFolder, End, of
from runner.jobs.request import Needs, Request
from runner.schedule import devices


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """One attempt at a job; job and attempt together name it for ever."""

    job_id: int
    attempt: int
    home: Path
    label: str

    @property
    def folder(self) -> AttemptFolder:
        return of(self.home, self.job_id, self.attempt)


class JobWork(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt executes, wherever that is: data that names no place. Its process reads it from a file."""

    request: Request
    label: str = ""
    """Name of its run."""
    retry_failed: bool = False
    """Whether a resumed run measures its failures again."""
    run: str | None = None
    """Name of the folder of its run, the same for all attempts; None if the command makes its own."""
    timeout_s: float
    grace_s: float

    def argv(self, file: Path, home: Path, *ends: str, runs: Path | None = None) -> tuple[str, ...]:
        """Return the words behind `python -m xlabench`: where the work lies and where its host wants it done.

        Args:
            file: that holds it there.
            home: of the host that executes it.
            ends: what else that host adds.
            runs: folder of its runs; None: that of the home.
        """
        place = [f"--output-dirname={(runs or home / 'runs') / self.run}"] if self.run else []
        return ("carry-out", str(file), f"--home={home}", *ends, *place)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """An attempt cannot start now."""

    reason: str
    """Why, in one sentence; empty if another worker of the home reports it."""
    devices: frozenset[str] = frozenset()
    """Devices that it waits for: later jobs do not take them, so that it is not overtaken for ever."""


class Reservation(Protocol):
    """Devices that are kept for an attempt until it has begun."""

    def release(self) -> None:
        """Release them; an attempt that has begun meanwhile keeps them."""


@dataclass(frozen=True, kw_only=True)
class Alive:
    """The attempt is active."""

    waits: str | None = None
    """What an attempt elsewhere waits for before it measures; its time limit has not started."""
    host: str | None = None
    """Name of the host, if it is not this one."""
    pid: int | None = None
    """Process id of its leading process, if that runs on this host and has reported it."""
    pid_started_at: float | None = None
    ran_s: float | None = None
    """Seconds since that process started, independent of changes of the clock; None if unknown."""


@dataclass(frozen=True)
class Ended:
    """The attempt is over, and said how."""

    end: End


@dataclass(frozen=True)
class Gone:
    """Nothing of the attempt is left, and it has not said how it ended; or it never began."""

    reason: str = ""
    """What else is known, in one sentence."""


Seen = Alive | Ended | Gone


class Executor(Protocol):
    """Carries attempts out. `tests/runner/jobs/fake_executor.py` is the smallest one."""

    name: str

    def reserve(self, ticket: Ticket, needs: Needs, taken: frozenset[str]) -> Reservation | Waiting:
        """Keep what an attempt needs, or say what it waits for; `taken` are devices that jobs before it wait for."""

    def start(self, ticket: Ticket, work: JobWork, reservation: Reservation) -> Alive:
        """Begin an attempt, which outlives this process.

        Raises:
            OSError: it cannot be begun.
        """

    def poll(self, ticket: Ticket) -> Seen:
        """Return what has become of an attempt."""

    def stop(self, ticket: Ticket) -> None:
        """Ask an attempt to end, once or several times; it keeps what it has measured."""

    def kill(self, ticket: Ticket) -> None:
        """End whatever is left of an attempt; return when nothing is."""

    def run_of(self, ticket: Ticket) -> tuple[str, str] | None:
        """Return id and folder of the run that an attempt measures into; None until it has said so."""

    def descriptors(self) -> Sequence[int]:
        """Return descriptors that become readable when an attempt ends; without any, the worker looks now and then."""


# The executor of this machine: a session of its own for each attempt, a lock for each device.


@dataclass
class Locks:
    """Locks of devices; a leading process that was started meanwhile keeps them."""

    handles: Mapping[str, int]

    def release(self) -> None:
        devices.release(self.handles)
        self.handles = {}


@dataclass
class Local:
    """Carries attempts out on this machine."""

    home: Path
    name: str = "local"
    command: tuple[str, ...] = (sys.executable, "-m", "xlabench")
    """Words before the arguments of an attempt."""
    ends: tuple[str, ...] = ()
    """Further arguments of every command on this host."""
    runs: Path | None = None
    """Folder of the runs; None: that of the home."""
    bound: bool = False
    """Whether attempts end with this process instead of outliving it."""
    _watched: dict[Ticket, int] = field(default_factory=dict)
    """A descriptor of each leading process, by attempt."""
    _over: set[int] = field(default_factory=set)
    """Descriptors that were returned as readable."""
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def reserve(self, ticket: Ticket, needs: Needs, taken: frozenset[str]) -> Locks | Waiting:
        here = machine.detect().accelerators
        if lacking := [name for name in needs.accelerators if name not in here]:
            return Waiting(reason=f"waits for a host with {lacking[0]}: this one has {', '.join(here)}")
        if lacking_model := _lacking_model(needs):
            return Waiting(reason=lacking_model)
        known = {*settings_file.read(self.home).environments, "default"}
        if undefined := [name for name in needs.environments if name not in known]:
            return Waiting(
                reason=f"waits for the environment {undefined[0]}: xlabench.toml of this home does not define it"
            )
        wanted = devices.names(needs.accelerators or here, needs.device_index)
        if common := taken.intersection(wanted):
            return Waiting(
                reason=f"waits for {min(common)}: a job ahead in the queue needs it", devices=frozenset(wanted)
            )
        got = devices.take(wanted, f"job {ticket.job_id}: {ticket.label}")
        if isinstance(got, str):
            return Waiting(reason=f"waits: {got}", devices=frozenset(wanted))
        return Locks(got)

    def start(self, ticket: Ticket, work: JobWork, reservation: Reservation) -> Alive:
        held = reservation.handles if isinstance(reservation, Locks) else {}
        place = ticket.folder
        home = self.home.resolve()
        order = {
            "argv": [*self.command, *work.argv(place.work, home, *self.ends, runs=self.runs)],
            "cwd": str(Path.cwd()),  # where this process found its own packages
            "devices": list(held.values()),
            "timeout_s": work.timeout_s,
            "grace_s": work.grace_s,
            "parent": os.getpid() if self.bound else None,
        }
        place.make(order, msgspec.json.encode(work))
        lock = place.take_lock()
        try:
            popen = self._popen(place, held, lock)
        finally:
            os.close(lock)
        self._children.append(popen)
        started_at = processes.start_time(popen.pid)
        for handle in held.values():
            devices.note(handle, popen.pid, f"job {ticket.job_id}: {ticket.label}")
        self._watch(ticket, popen.pid, started_at)
        return Alive(pid=popen.pid, pid_started_at=started_at)

    def _popen(self, place: AttemptFolder, held: Mapping[str, int], lock: int) -> subprocess.Popen[bytes]:
        """Start the leading process; from its birth on it holds the attempt and the devices, whatever becomes of us."""
        own = {name: value for name, value in os.environ.items() if name not in SECRETS}
        variables = {VARIABLE: str(place.path), devices.HELD_VARIABLE: json.dumps(dict(held))}
        return subprocess.Popen(
            [sys.executable, "-m", "runner.jobs.shim", str(place.path)],
            env={**own, **variables},
            pass_fds=(lock, *held.values()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def poll(self, ticket: Ticket) -> Seen:
        self._reap()
        place = ticket.folder
        # The lock is checked first, because a process writes the end before it releases the lock.
        is_held = place.is_held()
        end = place.end()
        if end is not None and not is_held:
            self._forget(ticket)
            return Ended(end)
        if not is_held:
            self._forget(ticket)
            return Gone()
        pid, started_at = place.started() or (None, None)
        if pid is not None:
            self._watch(ticket, pid, started_at)
        ran_s = None if started_at is None else processes.age_s(started_at)
        return Alive(pid=pid, pid_started_at=started_at, ran_s=ran_s)

    def stop(self, ticket: Ticket) -> None:
        pid, started_at = ticket.folder.started() or (None, None)
        if pid is not None and processes.is_process(pid, started_at):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def kill(self, ticket: Ticket) -> None:
        processes.kill_tagged(str(ticket.folder.path), tag=VARIABLE)
        self._reap()

    def run_of(self, ticket: Ticket) -> tuple[str, str] | None:
        measures = ticket.folder.measures()
        return (measures["run_id"], measures["folder"]) if measures else None

    def descriptors(self) -> Sequence[int]:
        """Return the descriptors to wait for; one that stays readable belongs to a job that is no longer followed."""
        for ticket, handle in list(self._watched.items()):
            if handle in self._over:
                self._forget(ticket)
            elif processes.wait_readable([handle], 0):
                self._over.add(handle)
        return tuple(self._watched.values())

    def _watch(self, ticket: Ticket, pid: int, started_at: float | None) -> None:
        if ticket not in self._watched and processes.is_process(pid, started_at):
            with contextlib.suppress(OSError):  # it has just ended
                self._watched[ticket] = os.pidfd_open(pid)

    def _forget(self, ticket: Ticket) -> None:
        if ticket in self._watched:
            handle = self._watched.pop(ticket)
            self._over.discard(handle)
            os.close(handle)

    def _reap(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]


def _lacking_model(needs: Needs) -> str:
    """Return why the devices of this host are not of the requested model; empty if they are."""
    devices_here, index = machine.detect().devices, needs.device_index or 0
    models_by_kind = [devices_here[name] for name in needs.accelerators or devices_here]
    models = {models_of_kind[index] for models_of_kind in models_by_kind if index < len(models_of_kind)}
    if needs.accelerator_model is None or needs.accelerator_model in models:
        return ""
    return f"waits for a host with {needs.accelerator_model}: this one has {', '.join(sorted(models)) or 'none'}"
