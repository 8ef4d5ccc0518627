"""Where people meet the queue: submit, cancel, retry, and look. What is refused is kept, too."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runner.errors import RunnerError
from runner.home import settings_file
from runner.home.settings_file import LOCAL, Access, Decision, Person, Right, SettingsFile, allowed_models, may
from runner.jobs import check, states
from runner.jobs.check import LONGEST_NAME, LONGEST_TEXT
from runner.jobs.request import JobRequest, encode
from runner.jobs.states import ALIVE, OVER
from store.errors import XlabenchError
from store.state import FILE_NAME, jobs
from store.state.database import opened
from store.state.jobs import Action, Job

T = TypeVar("T")
_PIPE = "wake"


def tell(home: Path) -> None:
    """Wake the worker; without one nothing happens."""
    with contextlib.suppress(OSError):
        handle = os.open(_path(home), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, b"!")
        finally:
            os.close(handle)


def listen(home: Path) -> int:
    """Return a descriptor that becomes readable when somebody tells; the worker's end."""
    path = _path(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path)
    # Open for writing as well, so that the pipe does not read as closed after the first writer has closed it.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def drain(handle: int) -> None:
    """Take what was told."""
    with contextlib.suppress(BlockingIOError):
        while os.read(handle, 4096):
            pass


def _path(home: Path) -> Path:
    return home / "jobs" / _PIPE


class Refused(RunnerError):
    """Something that somebody may not do, or cannot have; it has been kept with name and time."""

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
            Refused: the person may not, the request cannot be carried out, or a limit is reached.
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
        tell(self.home)
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
        tell(self.home)
        return job

    def _give_up(self, con: sqlite3.Connection, job_id: int) -> Job | None:
        job = jobs.get(con, job_id)
        if job is None or job.cancel_wanted_at is None or not states.may_be_given_up(self.home, job):
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
            advice = "submit a new job, or wait until it has finished"
            raise self.refuse("retry", job_id, full or self._cannot(job_id, advice))
        tell(self.home)
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

    def left_alone(self, job: Job) -> str:
        """Say that nobody follows a job that goes on, and what to do; empty where somebody does."""
        return states.left_alone(self.home, job)

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
    """Say whether nothing happens with the job any more unless somebody asks."""
    return job.state in OVER and not (job.state == "lost" and job.tries_left)
