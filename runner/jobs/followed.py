"""Whether anybody follows a job that goes on: a worker follows those of its own executor, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.jobs.owners import EXECUTORS, LOCAL, owner
from runner.jobs.states import ALIVE

if TYPE_CHECKING:
    from pathlib import Path

    from store.state.jobs import Job

_WHAT_TO_DO = {
    LOCAL: "no worker follows it: start `xlabench worker` or `xlabench serve`",
    "ray": "no worker follows it, and it may still be running: start `xlabench worker --executor ray` with the "
    "--address and --shared of its cluster. If the cluster no longer exists, cancel the job, and cancel it again to "
    "abandon it",
}
_LONGEST = 60
"""Characters of a name that anybody may have written."""


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
