"""The folder of one attempt at a job, `HOME/jobs/<job>/<attempt>`: what its processes write for later readers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from store.files import write_atomically

VARIABLE = "XLABENCH_JOB"
"""Environment variable that every process of an attempt inherits: its folder, which tells it from all others."""

LOG, MEASURES, END = "log", "measures.json", "end.json"
_ORDER, _STARTED, _LOCK, _WORK = "order.json", "started.json", "lock", "work.json"


@dataclass(frozen=True, kw_only=True)
class End:
    """How an attempt ended, as its own process wrote it down."""

    code: int | None
    """Exit code; a negative one names the signal that killed it; None if it was ended from outside."""
    reason: str = "ended"
    """`ended`; `timeout`: it reached its time limit; `stopped`: it was asked to end."""
    ended_at: float | None = None
    """Time of the end in Unix seconds."""


@dataclass(frozen=True)
class AttemptFolder:
    """Its files; each is written whole and on disk when the call returns."""

    path: Path

    @property
    def log(self) -> Path:
        """What the command prints."""
        return self.path / LOG

    @property
    def work(self) -> Path:
        """What the command is to do: its request, as data."""
        return self.path / _WORK

    def make(self, order: Mapping[str, Any], work: bytes) -> None:
        """Make the folder with what its process is to do, and the work for the command that it starts."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.work, work)
        self._write(_ORDER, order)

    def order(self) -> dict[str, Any]:
        """Return what its process is to do."""
        return self._read(_ORDER) or {}

    def record_start(self, pid: int, started_at: float | None) -> None:
        """Write down which process leads the attempt."""
        self._write(_STARTED, {"pid": pid, "started_at": started_at})

    def started(self) -> tuple[int, float | None] | None:
        """Return pid and start of the leading process; None until it has said so."""
        started = self._read(_STARTED)
        return (int(started["pid"]), started["started_at"]) if started else None

    def record_end(self, code: int | None, reason: str) -> None:
        """Write down how the command ended."""
        self._write(END, asdict(End(code=code, reason=reason, ended_at=time.time())))

    def end(self) -> End | None:
        """Return how the command ended; None while it runs, or if no process was left to write it."""
        import msgspec

        try:
            return msgspec.json.decode((self.path / END).read_bytes(), type=End)
        except (OSError, msgspec.DecodeError):
            return None

    def measures(self) -> dict[str, str] | None:
        """Return `run_id` and `folder` of the run that the attempt measures into; None until it has begun."""
        return self._read(MEASURES)

    def take_lock(self) -> int:
        """Return a descriptor that holds the attempt while anybody has it open: its leading process inherits it.

        The package filelock has no lock that a process can hand on to its child.
        """
        handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return handle

    def is_held(self) -> bool:
        """Say whether its leading process lives, from the moment it was born."""
        try:
            handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def read_log(self, offset: int = 0) -> bytes:
        """Return the text of the log from an offset on; a negative one counts from its end."""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size + offset) if offset < 0 else min(offset, size))
            return file.read()
        return b""

    def log_tail(self, most_bytes: int = 64_000) -> str:
        """Return the end of the log as text."""
        return self.read_log(-most_bytes).decode(errors="replace")

    def last_line(self) -> str:
        """Return the last line of the log, shortened; empty where there is none."""
        lines = self.log_tail(4000).strip().splitlines()
        return lines[-1][:500] if lines else ""

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        write_atomically(self.path / name, json.dumps(content).encode())

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads((self.path / name).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None


def of(home: Path, job_id: int, attempt: int) -> AttemptFolder:
    """Return the folder of an attempt, counted from 1."""
    return AttemptFolder(home.resolve() / "jobs" / str(job_id) / str(attempt))


def record_run(run_id: str, folder: Path) -> None:
    """Tell the job, where this process belongs to one, which run it measures into."""
    folder_of_job = os.environ.get(VARIABLE)
    if folder_of_job:
        write_atomically(
            Path(folder_of_job) / MEASURES, json.dumps({"run_id": run_id, "folder": str(folder.resolve())}).encode()
        )
