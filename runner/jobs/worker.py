"""The worker: starts jobs when what they need is free, follows them to their end, and takes up what a crash left.

`Loop` runs it: it sleeps until the queue wakes it, a job ends, a signal arrives, or a few seconds have passed.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from runner.home import settings_file
from runner.home.settings_file import JobLimits, Person, SettingsFile, allowed_models
from runner.jobs import check, queue, recurring
from runner.jobs.check import LONGEST_NAME
from runner.jobs.executor import Alive, Ended, Executor, Gone, JobWork, Seen, Ticket, Waiting
from runner.jobs.queue import ALIVE, outcome
from runner.jobs.request import Request, RunRequest, needs
from store.errors import XlabenchError
from store.state import FILE_NAME, jobs
from store.state.database import opened
from store.state.jobs import Action, Job


def work(request: Request, job: Job, limits: JobLimits) -> JobWork:
    """Return the work of an attempt; a run goes on in the folder of the attempt before it.

    Args:
        request: the job's, checked.
        job: its row; of it only the label, the number and the times are used, and no path.
        limits: of the home.
    """
    runs = isinstance(request, RunRequest)
    return JobWork(
        request=request,
        label=job.label,
        retry_failed=runs and job.retry_failed,
        run=run_name(job) if runs else None,
        timeout_s=min(job.timeout_s, limits.longest_timeout_s),
        grace_s=limits.grace_s,
    )


def run_name(job: Job) -> str:
    """Return the name of the folder of a job's run, the same for all attempts: words of ours, letters of its label."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", job.label).strip("-.")[:80] or "run"
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(min(max(job.submitted_at, 0.0), 1e11)))
    return f"{stamp}-{readable}-job{job.job_id}"


_MOST_ATTEMPTS = 1_000_000
"""Upper bound of attempts, because a forged row may contain any number."""
LATE_S = 5.0
"""Seconds after the grace period at which the worker kills a job that its leading process has not ended."""
NAME = "worker"
"""The worker's name in the history of actions."""


@dataclass
class Worker:
    """Runs the jobs of a home through one executor; `step` does everything that is due."""

    home: Path
    executor: Executor
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = print
    host: str = field(default_factory=socket.gethostname)
    draining: bool = False
    """Whether no further job is started."""
    _checked: dict[int, tuple[str, Request]] = field(default_factory=dict)
    """Requests by job, with the text that they were read from."""
    _problem: str = ""
    """The problem of the settings file that was reported last."""

    def step(self) -> None:
        """Update the active jobs, queue those that were lost or are due, and start those that can start."""
        file = self._settings()
        # Jobs are followed even if the settings file is broken, but none is started without its limits.
        grace_s = (file or settings_file.SettingsFile()).jobs.grace_s
        for job in self._followed_jobs():
            self._follow(job, grace_s)
        self._queue_lost()
        if file is not None and not self.draining:
            recurring.submit_due(self.home, self.clock, self.say)
            self._start(file)

    def is_idle(self) -> bool:
        """Say whether this worker follows no running job."""
        return not self._followed_jobs()

    def _followed_jobs(self) -> list[Job]:
        with opened(self.home / FILE_NAME) as con:
            return [job for job in jobs.in_states(con, ALIVE) if queue.follows(self.executor.name, job)]

    def _settings(self) -> SettingsFile | None:
        """Read the home's file; if it is invalid, report that once and return None."""
        try:
            file, problem = settings_file.read(self.home), ""
        except XlabenchError as error:
            file, problem = None, str(error)
        if problem and problem != self._problem:
            self.say(f"No job is started: {problem}")
        self._problem = problem
        return file

    def _follow(self, job: Job, grace_s: float) -> None:
        ticket = Ticket(job_id=job.job_id, attempt=job.attempts, home=self.home, label=job.label)
        seen = self.executor.poll(ticket)
        if not isinstance(seen, Alive):
            self._finish(job, ticket, seen)
            return
        self._write_alive(job, ticket, seen)
        self._end_in_time(job, ticket, grace_s, seen.ran_s)

    def _write_alive(self, job: Job, ticket: Ticket, seen: Alive) -> None:
        """Store what has changed of a running attempt."""
        if seen.waits is not None:
            # It was submitted to a cluster and does not measure yet.
            if job.message != seen.waits and job.cancel_wanted_at is None:
                with opened(self.home / FILE_NAME) as con:
                    jobs.change(con, job.job_id, ("starting",), message=seen.waits)
            return
        run = self.executor.run_of(ticket) or (job.run_id, job.folder)
        pid = (job.pid, job.pid_started_at) if seen.pid is None else (seen.pid, seen.pid_started_at)
        if ("running", *run, *pid) == (job.state, job.run_id, job.folder, job.pid, job.pid_started_at):
            return
        with opened(self.home / FILE_NAME) as con:
            fields = {"run_id": run[0], "folder": run[1], "pid": pid[0], "pid_started_at": pid[1]}
            fields |= {"host": seen.host} if seen.host else {}
            begun: dict[str, object] = {"started_at": self.clock()} if job.state == "starting" else {}
            if begun and job.cancel_wanted_at is None:
                begun["message"] = ""
            jobs.change(con, job.job_id, ALIVE, state="running", **fields, **begun)

    def _end_in_time(self, job: Job, ticket: Ticket, grace_s: float, ran_s: float | None) -> None:
        """End a job that is cancelled, or whose leading process has exceeded its time limit."""
        now = self.clock()
        if job.cancel_wanted_at is not None:
            self.executor.stop(ticket)
            late = now > job.cancel_wanted_at + grace_s + LATE_S
        else:
            if ran_s is None:
                ran_s = now - (job.started_at or now)
            late = job.state == "running" and ran_s > job.timeout_s + grace_s + LATE_S
        if late:
            self.executor.kill(ticket)
            self._finish(job, ticket, self.executor.poll(ticket))

    def _finish(self, job: Job, ticket: Ticket, seen: Seen) -> None:
        """Store how an attempt ended, after every process of it has ended."""
        if isinstance(seen, Alive):
            return
        end = seen.end if isinstance(seen, Ended) else None
        if end is None:
            self.executor.kill(ticket)
        last_line = ticket.folder.last_line() if end and end.code else ""
        state, message = outcome(end, cancelled=job.cancel_wanted_at is not None, last_line=last_line)
        if state == "lost" and isinstance(seen, Gone):
            message = seen.reason or queue.stray(self.executor.name, job) or message
        run = self.executor.run_of(ticket) or (job.run_id, job.folder)
        now = end.ended_at if end and end.ended_at else self.clock()
        with opened(self.home / FILE_NAME) as con:
            changed = jobs.change(
                con,
                job.job_id,
                ALIVE,
                state=state,
                message=message,
                exit_code=end.code if end else None,
                run_id=run[0],
                folder=run[1],
                finished_at=now,
                spent_s=job.spent_s + max(0.0, now - (job.started_at or now)),
            )
            if changed is not None:
                self._act(con, job.job_id, state, message)
        self.say(f"job {job.job_id} {state}{': ' if message else ''}{message}")

    def _queue_lost(self) -> None:
        """Queue lost jobs again that have attempts left, also those of other workers."""
        with opened(self.home / FILE_NAME) as con:
            for job in jobs.in_states(con, ("lost",)):
                if job.tries_left > 0:
                    message = f"attempt {job.attempts} was lost: {job.message}"
                    jobs.change(con, job.job_id, ("lost",), state="queued", message=message, finished_at=None)
                    self._act(con, job.job_id, "queued again", message)

    def _start(self, file: SettingsFile) -> None:
        """Start jobs in the order of the queue; no job takes a device that an earlier one waits for."""
        taken: frozenset[str] = frozenset()
        with opened(self.home / FILE_NAME) as con:
            waiting = jobs.in_states(con, ("queued",))
        self._checked = {job.job_id: self._checked[job.job_id] for job in waiting if job.job_id in self._checked}
        for job in waiting:
            try:
                request = self._request(job, file)
            except check.BadRequest as error:
                self._refuse(job, str(error))
                continue
            ticket = Ticket(job_id=job.job_id, attempt=job.attempts + 1, home=self.home, label=job.label)
            reserved = self.executor.reserve(ticket, needs(request), taken)
            if isinstance(reserved, Waiting):
                taken |= reserved.devices
                if reserved.reason and job.message != reserved.reason:
                    with opened(self.home / FILE_NAME) as con:
                        jobs.change(con, job.job_id, ("queued",), message=reserved.reason)
                continue
            try:
                claimed = self._claim(job, file.jobs.attempts)
                if claimed is not None:
                    job_work = work(request, claimed, file.jobs)
                    self._begin(claimed, ticket, partial(self.executor.start, ticket, job_work, reserved))
            finally:
                reserved.release()

    def _request(self, job: Job, file: SettingsFile) -> Request:
        """Return a job's request, checked as when it was submitted: anybody may have written the row.

        Raises:
            BadRequest: it cannot be carried out.
        """
        text, request = self._checked.get(job.job_id, ("", None))
        if request is None or text != job.request:
            models = allowed_models(Person(job.who, job.verified), file.models)
            request = check.read(job.request, file.jobs.request_bytes, file.environments, models)
            self._checked[job.job_id] = job.request, request
        if not 0 < job.timeout_s <= file.jobs.longest_timeout_s:
            raise check.BadRequest(f"Its timeout of {job.timeout_s:g} s exceeds [jobs] longest_timeout_s.")
        # What the row holds beside its request has to be that of a job which somebody could have submitted.
        label = job.label.isprintable() and job.label.strip() and len(job.label) <= LONGEST_NAME
        if not label or not 0 <= job.attempts < _MOST_ATTEMPTS or job.tries_left < 1:
            raise check.BadRequest("Its row in the queue is malformed; submit the job again.")
        return request

    def _refuse(self, job: Job, reason: str) -> None:
        with opened(self.home / FILE_NAME) as con:
            message = f"refused: {reason}"
            if jobs.change(con, job.job_id, ("queued",), state="failed", message=message, finished_at=self.clock()):
                self._act(con, job.job_id, "refused start", reason)
        self.say(f"job {job.job_id} refused: {reason}")

    def _claim(self, job: Job, most_tries: int) -> Job | None:
        """Claim the job before any process of it exists; None if it was cancelled meanwhile."""
        with opened(self.home / FILE_NAME) as con:
            return jobs.change(
                con,
                job.job_id,
                ("queued",),
                state="starting",
                attempts=job.attempts + 1,
                tries_left=min(job.tries_left, most_tries) - 1,
                executor=self.executor.name,
                host=self.host,
                pid=None,
                pid_started_at=None,
                message="",
                started_at=self.clock(),
            )

    def _begin(self, job: Job, ticket: Ticket, start: Callable[[], Alive]) -> None:
        try:
            alive = start()
        except OSError as error:
            self.executor.kill(ticket)
            with opened(self.home / FILE_NAME) as con:
                message = f"it could not be started: {error}"
                jobs.change(con, job.job_id, ALIVE, state="failed", message=message, finished_at=self.clock())
                self._act(con, job.job_id, "failed", message)
            return
        self._write_alive(job, ticket, alive)
        with opened(self.home / FILE_NAME) as con:
            self._act(con, job.job_id, "started", f"attempt {ticket.attempt} on {self.host}")
        self.say(f"job {job.job_id} started: {job.label} ({job.who})")

    def _act(self, con: sqlite3.Connection, job_id: int, action: str, detail: str) -> None:
        record = Action(job_id=job_id, action=action, who=NAME, verified=True, acted_at=self.clock(), detail=detail)
        jobs.act(con, record)


TICK_S = 3.0
"""Seconds between two steps if nothing wakes the worker, for example when another process releases a device."""


@dataclass
class Loop:
    """Runs a worker until SIGTERM or SIGINT; jobs go on without it."""

    worker: Worker
    after_step: Callable[[], None] = lambda: None
    """Called after each step."""
    drain: bool = False
    """Wait for the running jobs at the first signal, and end at once at the second."""
    _signals: int = 0

    def run(self, ready: Callable[[], None]) -> None:
        """Work until a signal ends it; `ready` is called as soon as the queue can wake the worker."""
        woken = queue.listen(self.worker.home)
        with self._hearing() as heard:
            ready()
            try:
                while not self._is_over():
                    self._step()
                    self._sleep(woken, heard)
            finally:
                os.close(woken)

    def _is_over(self) -> bool:
        if not self._signals:
            return False
        self.worker.draining = True
        return not self.drain or self._signals > 1 or self.worker.is_idle()

    def _step(self) -> None:
        """Take one step; a locked table or a full disk is tried again in the next step."""
        try:
            self.worker.step()
            self.after_step()
        except (XlabenchError, sqlite3.Error, OSError) as error:
            self.worker.say(f"worker: {error}")

    def _sleep(self, woken: int, heard: int) -> None:
        with selectors.DefaultSelector() as selector:
            for handle in {woken, heard, *self.worker.executor.descriptors()}:
                selector.register(handle, selectors.EVENT_READ)
            selector.select(TICK_S)
        queue.drain(woken)
        queue.drain(heard)

    @contextlib.contextmanager
    def _hearing(self) -> Iterator[int]:
        """Count signals; gives a descriptor that becomes readable at one."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        old_wakeup = signal.set_wakeup_fd(writing)
        numbers = (signal.SIGTERM, signal.SIGINT)
        old = {number: signal.signal(number, self._count) for number in numbers}
        try:
            yield reading
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wakeup)
            os.close(reading)
            os.close(writing)

    def _count(self, number: int, frame: object) -> None:
        del number, frame
        self._signals += 1
