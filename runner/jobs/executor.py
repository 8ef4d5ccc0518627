"""What carries attempts out: this machine, or a cluster. The table is the record of jobs; an executor holds none.

Each call may be the first after a crash of the worker, so an executor finds an attempt again by its ticket alone, and
what it was asked twice it does once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from runner.jobs.folder import AttemptFolder, End, of
from runner.jobs.request import Needs, Request


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
        """Give them back; what has begun meanwhile goes on holding them."""


@dataclass(frozen=True, kw_only=True)
class Alive:
    """The attempt goes on."""

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
        """Keep what an attempt needs, or say what it waits for.

        Args:
            ticket: of the attempt.
            needs: of its request.
            taken: devices that jobs before it wait for.
        """

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

    def last_line(self, ticket: Ticket) -> str:
        """Return the last line that an attempt printed."""

    def descriptors(self) -> Sequence[int]:
        """Return descriptors that become readable when an attempt ends; without any, the worker looks now and then."""
