"""The states of a job, which worker follows it, and where people meet the queue: submit, cancel, retry, and look."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runner.errors import RunnerError
from runner.failure import signal_name
from runner.home import settings_file
from runner.home.settings_file import LOCAL, Access, Decision, Person, Right, SettingsFile, allowed_models, may
from runner.jobs import check
from runner.jobs.check import LONGEST_NAME, LONGEST_TEXT
from runner.jobs.folder import End
from runner.jobs.request import JobRequest, encode
from runner.schedule import devices
from runner.schedule.devices import Owner
from store.errors import XlabenchError
from store.state import FILE_NAME, jobs
from store.state.database import opened
from store.state.jobs import Action, Job, State

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
    failed = f"exit code {end.code}: {last_line}" if last_line else f"exit code {end.code}; see its log"
    return ("lost", f"it was killed by {signal_name(-end.code)}") if end.code < 0 else ("failed", failed)


# Who follows jobs: one worker per executor, known by a lock in the home.

LOCAL_WORKER = "local"


EXECUTORS = (LOCAL_WORKER, "ray")


def owner(home: Path, executor: str = LOCAL_WORKER) -> Owner | None:
    """Return the worker of a home on this host that has this executor; None where none runs."""
    return devices.owner(_lock(home, executor))


def has_worker(home: Path) -> bool:
    """Say whether anybody on this host carries a home's jobs out, here or on a cluster."""
    return any(owner(home, executor) is not None for executor in EXECUTORS)


def lacks_confirmer(home: Path) -> bool:
    """Tell whether a home's only worker gives jobs to a cluster, whose nodes have no store to compare in."""
    return has_worker(home) and owner(home) is None


@contextlib.contextmanager
def only_one(home: Path, executor: str = LOCAL_WORKER) -> Iterator[str | None]:
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
    kind = "" if executor == LOCAL_WORKER else f"{executor}-"
    return f"{devices.WORKER}{kind}{hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:16]}"


_WHAT_TO_DO = {
    LOCAL_WORKER: "no worker follows it: start `xlabench worker` or `xlabench serve`",
    "ray": "no worker follows it, and it may still be running: start `xlabench worker --executor ray` with the "
    "--address and --shared of its cluster. If the cluster no longer exists, cancel the job, and cancel it again to "
    "abandon it",
}
_LONGEST = 60
"""Maximum number of characters shown of a name that anybody may have written."""


def unfollowed_reason(home: Path, job: Job) -> str:
    """Return that no worker of this host follows an active job, and what to do; empty if one does."""
    if job.state not in ALIVE or owner(home, follower(job)) is not None:
        return ""
    return _WHAT_TO_DO[follower(job)]


def follower(job: Job) -> str:
    """Return the executor whose worker follows a job; a job without a known executor is looked for on this machine."""
    return job.executor if job.executor in EXECUTORS else LOCAL_WORKER


def follows(executor: str, job: Job) -> bool:
    """Say whether a worker with an executor follows a job."""
    return executor == job.executor or executor == follower(job)


def stray(executor: str, job: Job) -> str:
    """Say why a job is lost of which nothing is here and whose row names another executor; else empty."""
    if job.executor == executor:
        return ""
    named = ascii(job.executor)[:_LONGEST] if job.executor else "none"
    return f"its row names the executor {named}, which no worker uses, and this machine has no trace of it"


T = TypeVar("T")
_PIPE = "wake"


def wake(home: Path) -> None:
    """Wake the worker; without one nothing happens."""
    with contextlib.suppress(OSError):
        handle = os.open(_path(home), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, b"!")
        finally:
            os.close(handle)


def listen(home: Path) -> int:
    """Return the worker's descriptor, which becomes readable when the queue has changed."""
    path = _path(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path)
    # Open for writing as well, so that the pipe does not read as closed after the first writer has closed it.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def drain(handle: int) -> None:
    """Read the pending signals."""
    with contextlib.suppress(BlockingIOError):
        while os.read(handle, 4096):
            pass


def _path(home: Path) -> Path:
    return home / "jobs" / _PIPE


class Refused(RunnerError):
    """A request or action that was refused; it is stored with name and time."""

    exit_code = 2


@dataclass(frozen=True)
class JobQueue:
    """The queue of a home, as one person reaches it.

    Every method opens its own short transaction: a queue may be kept, shared by threads, and costs nothing.
    """

    home: Path
    person: Person
    access: Access = LOCAL
    clock: Callable[[], float] = time.time

    @property
    def state(self) -> Path:
        return self.home / FILE_NAME

    def submit(self, job_request: JobRequest) -> Job:
        """Queue a request; the same key gives the job that it gave before.

        Raises:
            Refused: the person may not, the request cannot be carried out, the key is that of another request, or a
                limit is reached.
        """
        file = self.allowed("submit", None)
        key = job_request.key or uuid.uuid4().hex
        try:
            text, timeout_s = self.checked(job_request, file)
        except XlabenchError as error:
            raise self.refuse("submit", None, str(error)) from None
        with opened(self.state) as con:
            job = jobs.by_key(con, key)
            full = None if job else check.reached(con, file.jobs, self.person.name, self.clock())
            if job is None and full is None:
                job = jobs.add(con, self._job(job_request, key, text, timeout_s, file.jobs.attempts))
                self.act(con, job.job_id, "submit", job_request.why)
        if job is None:
            raise self.refuse("submit", None, str(full))
        if job.request != text:
            reason = f"The key {key!r} is that of job {job.job_id}, which requests something else. Pass another key."
            raise self.refuse("submit", None, reason)
        wake(self.home)
        return job

    def cancel(self, job_id: int) -> Job:
        """Cancel a job: at once where it waits; where it runs, its worker ends it within seconds.

        A second time gives up one of a cluster that no worker follows: that cluster may be no more.

        Raises:
            Refused: the person may not, there is no such job, or it is over.
        """
        self.allowed("cancel", job_id)
        now = self.clock()
        with opened(self.state) as con:
            job = jobs.change(con, job_id, ("queued", "lost"), state="cancelled", finished_at=now, message="")
            job = job or self._give_up(con, job_id)
            job = job or jobs.change(con, job_id, ALIVE, cancel_wanted_at=now, message="being cancelled")
            if job is not None:
                self.act(con, job_id, "cancel", "")
        if job is None:
            raise self.refuse("cancel", job_id, self._cannot(job_id, "there is nothing to cancel"))
        wake(self.home)
        return job

    def _give_up(self, con: sqlite3.Connection, job_id: int) -> Job | None:
        job = jobs.get(con, job_id)
        if job is None or job.cancel_wanted_at is None:
            return None
        # Nobody follows it, and nobody may be able to: what is on this machine, any worker here ends.
        if follower(job) == LOCAL_WORKER or not unfollowed_reason(self.home, job):
            return None
        fields = {"state": "cancelled", "finished_at": self.clock(), "message": "abandoned: no worker followed it"}
        return jobs.change(con, job_id, ALIVE, **fields)

    def retry(self, job_id: int) -> Job:
        """Queue a job again that failed, was cancelled or is lost: its run goes on, and failures are measured again.

        Raises:
            Refused: the person may not, there is no such job, it is not over, or it is done.
        """
        file = self.allowed("retry", job_id)
        fresh = {"state": "queued", "tries_left": file.jobs.attempts, "retry_failed": True, "message": ""}
        blank = dict.fromkeys(("cancel_wanted_at", "started_at", "finished_at", "exit_code"))
        with opened(self.state) as con:
            full = check.reached(con, file.jobs, self.person.name, self.clock())
            job = None if full else jobs.change(con, job_id, ("failed", "cancelled", "lost"), **fresh, **blank)
            if job is not None:
                self.act(con, job_id, "retry", "")
        if job is None:
            advice = "wait until it has finished, or submit a new job"
            raise self.refuse("retry", job_id, full or self._cannot(job_id, advice))
        wake(self.home)
        return job

    def job(self, job_id: int) -> Job | None:
        """Return a job; None if there is none of this number."""
        return self._read(lambda con: jobs.get(con, job_id))

    def listed(self, limit: int = 200) -> list[Job]:
        """Return the jobs that were submitted last, the newest first."""
        return self._read(lambda con: jobs.newest(con, limit)) or []

    def positions(self) -> dict[int, int]:
        """Return the place of each waiting job in the queue, from 1; a job that waits for a device is overtaken."""
        waiting = self._read(lambda con: jobs.in_states(con, ("queued",))) or []
        return {job.job_id: place for place, job in enumerate(waiting, 1)}

    def unfollowed_reason(self, job: Job) -> str:
        """Return that no worker follows an active job, and what to do; empty if one does."""
        return unfollowed_reason(self.home, job)

    def actions(self, job_id: int | None = None) -> list[Action]:
        """Return who did what with a job, or everything, refusals included; the oldest first."""
        return self._read(lambda con: jobs.actions(con, job_id)) or []

    def _read(self, read: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what a query reads from the queue; None if there is no queue yet."""
        if not self.state.is_file():
            return None
        with opened(self.state) as con:
            return read(con)

    def may(self, right: Right) -> Decision:
        """Return whether the person may view, note, or launch (submit, cancel, retry), and if not, why.

        Raises:
            UsageError: the home's settings file is broken.
        """
        return may(right, self.person, self.access, settings_file.read(self.home).roles)

    def checked(self, job_request: JobRequest, file: SettingsFile) -> tuple[str, float]:
        """Return the request's text and the job's timeout.

        Raises:
            BadRequest: the request cannot be carried out, or a word beside it cannot be shown.
        """
        text = encode(job_request.request)
        check.read(text, file.jobs.request_bytes, file.environments, allowed_models(self.person, file.models))
        check.check_words(job_request, self.person)
        return text, check.timeout_s(job_request, file.jobs)

    def allowed(self, action: str, job_id: int | None) -> SettingsFile:
        """Return the home's settings if the person may launch.

        Raises:
            Refused: it may not; kept with its name.
        """
        file = settings_file.read(self.home)
        decision = may("launch", self.person, self.access, file.roles)
        if not decision.allowed:
            raise self.refuse(action, job_id, decision.reason)
        return file

    def refuse(self, action: str, job_id: int | None, reason: str) -> Refused:
        """Keep that something was refused; returns the error to raise."""
        with opened(self.state) as con:
            self.act(con, job_id, f"refused {action}", reason)
        return Refused(reason)

    def act(self, con: sqlite3.Connection, job_id: int | None, action: str, detail: str) -> None:
        """Keep what the person did."""
        name, verified = self.person.name[:LONGEST_NAME], self.person.verified
        record = Action(
            job_id=job_id,
            action=action,
            who=name,
            verified=verified,
            acted_at=self.clock(),
            detail=detail[:LONGEST_TEXT],
        )
        jobs.act(con, record)

    def _job(self, job_request: JobRequest, key: str, text: str, timeout_s: float, attempts: int) -> Job:
        return Job(
            key=key,
            request=text,
            label=job_request.label,
            why=job_request.why,
            who=self.person.name,
            verified=self.person.verified,
            priority=job_request.priority,
            timeout_s=timeout_s,
            tries_left=attempts,
            submitted_at=self.clock(),
        )

    def _cannot(self, job_id: int, advice: str) -> str:
        """Say that a job does not exist, or that its state does not allow an action."""
        job = self.job(job_id)
        if job is None:
            return f"There is no job {job_id}. Run `xlabench jobs list` to see all jobs."
        return f"Job {job_id} is {job.state}; {advice}."


def is_over(job: Job) -> bool:
    """Tell whether the job stays as it is until a user acts on it."""
    return job.state in OVER and not (job.state == "lost" and job.tries_left)
