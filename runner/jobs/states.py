"""The states of a job, what leads from one to another, and which worker follows it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from runner.failure import signal_name
from runner.jobs.folder import End
from runner.schedule import devices
from runner.schedule.devices import Owner
from store.state.jobs import Job, State

ALIVE: tuple[State, ...] = ("starting", "running")
OVER: tuple[State, ...] = ("done", "failed", "cancelled", "lost")

_INTERRUPTED = 130
_DONE = {0: "", 3: "partial: some experiments could not run; see the log"}
"""Exit codes of a run that measured, each with its message."""


def outcome(end: End | None, *, cancelled: bool, last_line: str = "") -> tuple[State, str]:
    """Return the state after an attempt, and why: one sentence. A failed measurement is `failed`, never `lost`.

    Args:
        end: None where nothing was written down: its process, or its host, died.
        cancelled: somebody wanted it to end.
        last_line: of its log, for a failure.
    """
    if end is not None and end.code is not None and end.code in _DONE:
        return "done", _DONE[end.code]
    if cancelled:
        return "cancelled", ""
    if end is None:
        return "lost", "its process disappeared without an exit code"
    if end.reason == "timeout":
        return "failed", "it reached its time limit; submit it with a longer timeout or fewer experiments"
    if end.reason == "stopped" or end.code is None or end.code == _INTERRUPTED:
        return "lost", "it was interrupted by a signal"
    return _by_code(end.code, last_line)


def _by_code(code: int, last_line: str) -> tuple[State, str]:
    if code < 0:
        return "lost", f"it was killed by {signal_name(-code)}"
    return "failed", f"exit code {code}: {last_line}" if last_line else f"exit code {code}; see its log"


# Who follows jobs: one worker per executor, known by a lock in the home.

LOCAL = "local"


EXECUTORS = (LOCAL, "ray")


def owner(home: Path, executor: str = LOCAL) -> Owner | None:
    """Return the worker of a home on this host that has this executor; None where none runs."""
    return devices.owner(_lock(home, executor))


def has_worker(home: Path) -> bool:
    """Say whether anybody on this host carries a home's jobs out, here or on a cluster."""
    return any(owner(home, executor) is not None for executor in EXECUTORS)


def lacks_confirmer(home: Path) -> bool:
    """Say whether a home's jobs are carried out on a cluster alone: nobody there has the store to compare in."""
    return has_worker(home) and owner(home) is None


@contextlib.contextmanager
def only_one(home: Path, executor: str = LOCAL) -> Iterator[str | None]:
    """Be the worker of a home on this host with this executor while the block runs; gives None, else who is."""
    got = devices.take([_lock(home, executor)], f"worker of {home.resolve()}")
    if isinstance(got, str):
        worker = owner(home, executor)
        yield f"process {worker.pid}" if worker else "another process"
        return
    try:
        yield None
    finally:
        devices.release(got)


def _lock(home: Path, executor: str) -> str:
    kind = "" if executor == LOCAL else f"{executor}-"
    return devices.of_worker(kind + hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:16])


_WHAT_TO_DO = {
    LOCAL: "no worker follows it: start `xlabench worker` or `xlabench serve`",
    "ray": "no worker follows it, and it may still be running: start `xlabench worker --executor ray` with the "
    "--address and --shared of its cluster. If the cluster no longer exists, cancel the job, and cancel it again to "
    "abandon it",
}
_LONGEST = 60
"""Maximum number of characters shown of a name that anybody may have written."""


def left_alone(home: Path, job: Job) -> str:
    """Say that no worker of this host follows a job that goes on, and what to do; empty where one does."""
    if job.state not in ALIVE or owner(home, follower(job)) is not None:
        return ""
    return _WHAT_TO_DO[follower(job)]


def may_be_given_up(home: Path, job: Job) -> bool:
    """Say whether nobody follows a job and nobody may be able to: what is on this machine, any worker here ends."""
    return bool(left_alone(home, job)) and follower(job) != LOCAL


def follower(job: Job) -> str:
    """Return the executor whose worker follows a job; what nobody knows is looked for on this machine."""
    return job.executor if job.executor in EXECUTORS else LOCAL


def follows(executor: str, job: Job) -> bool:
    """Say whether a worker with an executor follows a job."""
    return executor == job.executor or executor == follower(job)


def stray(executor: str, job: Job) -> str:
    """Say why a job is lost of which nothing is here and whose row names another executor; else empty."""
    if job.executor == executor:
        return ""
    named = ascii(job.executor)[:_LONGEST] if job.executor else "none"
    return f"its row names the executor {named}, which no worker uses, and this machine has no trace of it"
