"""Recurring runs: the worker submits a job whenever one is due, once for each time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from cronsim import CronSim, CronSimError

from runner.errors import RunnerError
from runner.home.models import allowed
from runner.home.roles import LOCAL, Access, Person
from runner.jobs import check
from runner.jobs.job_request import JobRequest
from runner.jobs.queue import JobQueue, Refused
from runner.jobs.request import encode
from store.state import FILE_NAME, schedules
from store.state.database import opened
from store.state.schedules import Schedule, Tick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FIELDS_N = 5
_LONGEST_LATE_S = 30 * 86_400.0


def add(job_queue: JobQueue, cron: str, job_request: JobRequest, late_after_s: float) -> Schedule:
    """Schedule a recurring request, under its label, from the next time that the expression names.

    Raises:
        Refused: the person may not, the expression or the request cannot be, or the name is taken.
    """
    file = job_queue.allowed("schedule", None)
    schedule = Schedule(
        name=job_request.label,
        cron=cron,
        request=encode(job_request.request),
        priority=job_request.priority,
        timeout_s=job_request.timeout_s,
        late_after_s=late_after_s,
        who=job_queue.person.name,
        verified=job_queue.person.verified,
        created_at=job_queue.clock(),
    )
    try:
        job_queue.checked(job_request, file)
        due_before(cron, job_queue.clock())
        _check_late(late_after_s)
    except RunnerError as error:
        raise job_queue.refuse("schedule", None, str(error)) from None
    with opened(job_queue.state) as con:
        taken = schedule.name in {each.name for each in schedules.active(con)}
        written = None if taken else schedules.add(con, schedule)
        if written is not None:
            job_queue.act(con, None, "schedule", f"{written.name}: {cron}")
    if written is None:
        raise job_queue.refuse("schedule", None, f"A recurring run {schedule.name} already exists; remove it first.")
    return written


def change(job_queue: JobQueue, name: str, cron: str, late_after_s: float) -> Schedule:
    """Give a recurring run another time; what it measures stays, and it counts from the next time on.

    Raises:
        Refused: the person may not, the expression cannot be, or there is none of this name.
    """
    job_queue.allowed("schedule", None)
    try:
        due_before(cron, job_queue.clock())
        _check_late(late_after_s)
    except RunnerError as error:
        raise job_queue.refuse("schedule", None, str(error)) from None
    with opened(job_queue.state) as con:
        before = next((each for each in schedules.active(con) if each.name == name), None)
        if before is not None:
            schedules.remove(con, name, job_queue.clock())
            who = {"who": job_queue.person.name, "verified": job_queue.person.verified, "created_at": job_queue.clock()}
            changed = msgspec.structs.replace(before, schedule_id=0, cron=cron, late_after_s=late_after_s, **who)
            written = schedules.add(con, changed)
            job_queue.act(con, None, "schedule", f"{name}: {cron}, before: {before.cron}")
    if before is None:
        raise job_queue.refuse("schedule", None, f"There is no recurring run {name}.")
    return written


def remove(job_queue: JobQueue, name: str) -> None:
    """End a recurring run; its jobs and runs stay.

    Raises:
        Refused: the person may not, or there is none of this name.
    """
    job_queue.allowed("unschedule", None)
    with opened(job_queue.state) as con:
        done = schedules.remove(con, name, job_queue.clock())
        if done:
            job_queue.act(con, None, "unschedule", name)
    if not done:
        raise job_queue.refuse(
            "unschedule", None, f"There is no recurring run {name}. Run `xlabench schedule list` to see all."
        )


def _check_late(late_after_s: float) -> None:
    if not 0 < late_after_s <= _LONGEST_LATE_S:
        raise check.BadRequest(f"--late-after must be at most {_LONGEST_LATE_S:g} s, not {late_after_s:g}.")


def due_before(cron: str, now: float) -> float:
    """Return the newest time, Unix seconds, that an expression names and that is not after `now`.

    Raises:
        BadRequest: it is no expression, or names no time.
    """
    # The search goes back from a moment that it leaves out itself.
    return _times(cron, now + 1.0, reverse=True)


def due_after(cron: str, now: float) -> float:
    """Return the next time that an expression names.

    Raises:
        BadRequest: as above.
    """
    return _times(cron, now, reverse=False)


def _times(cron: str, moment: float, *, reverse: bool) -> float:
    if len(cron.split()) != _FIELDS_N:
        raise check.BadRequest(
            f"{cron!r} is not a cron expression with five fields, such as '0 2 * * *' for every day at 02:00 UTC."
        )
    start = datetime.fromtimestamp(0, UTC) + timedelta(seconds=int(moment))
    try:
        return next(CronSim(cron, start, reverse=reverse)).timestamp()
    except (CronSimError, StopIteration) as error:
        raise check.BadRequest(f"{cron!r} is not a valid cron expression: {error or 'it matches no time'}.") from None


def begun_at(schedule: Schedule, now: float) -> float:
    """Return from when on a schedule counts; one of the future was made while the clock was ahead."""
    return schedule.created_at if schedule.created_at <= now else 0.0


def submit_due(home: Path, clock: Callable[[], float], say: Callable[[str], None]) -> None:
    """Submit what is due and was not submitted; of several times that were missed the newest counts."""
    with opened(home / FILE_NAME) as con:
        now = clock()
        found = [(each, schedules.last_tick(con, each.schedule_id, now)) for each in schedules.active(con)]
    for schedule, last in found:
        try:
            due_at = due_before(schedule.cron, now)
        except check.BadRequest as error:  # a forged row
            say(f"recurring run {schedule.name}: {error}")
            continue
        if due_at > max(begun_at(schedule, now), last.due_at if last else 0.0):
            _submit(home, clock, schedule, due_at, say)


def _submit(
    home: Path, clock: Callable[[], float], schedule: Schedule, due_at: float, say: Callable[[str], None]
) -> None:
    """Submit a job under a key that names the time: whoever comes second gets the same job."""
    person = Person(schedule.who, schedule.verified)
    access = Access(loopback=False, login=True) if schedule.verified else LOCAL
    job_queue = JobQueue(home, person, access, clock)
    job_id, reason = None, ""
    try:
        file = job_queue.allowed("submit", None)
        models = allowed(person, file.models)
        request = check.read(schedule.request, file.jobs.request_bytes, file.environments, models)
        job_id = job_queue.submit(
            JobRequest(
                request=request,
                label=schedule.name,
                why=f"recurring: {schedule.cron}",
                key=f"schedule {schedule.schedule_id} {due_at:.0f}",
                priority=schedule.priority,
                timeout_s=schedule.timeout_s,
            )
        ).job_id
    except (Refused, check.BadRequest) as error:
        reason = str(error)
        say(f"recurring run {schedule.name} was due but was refused: {reason}")
    with opened(job_queue.state) as con:
        schedules.write_tick(con, Tick(schedule_id=schedule.schedule_id, due_at=due_at, job_id=job_id, reason=reason))
