"""Recurring runs: the worker submits a job whenever one is due, once for each time; and the state of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from cronsim import CronSim, CronSimError

from runner.environments.machine import PACKAGES
from runner.home.settings_file import LOCAL, Access, Person, allowed_models
from runner.jobs import check
from runner.jobs.queue import JobQueue, Refused, is_over
from runner.jobs.request import JobRequest, encode
from store.errors import RunFileError, XlabenchError
from store.record import RunFile
from store.run_file import RESULTS, RUN_FILE, read_records, read_run_file, record_files
from store.state import FILE_NAME, jobs, schedules
from store.state.database import opened
from store.state.jobs import Job
from store.state.schedules import Schedule, Tick

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
    except XlabenchError as error:
        raise job_queue.refuse("schedule", None, str(error)) from None
    _check_times(job_queue, cron, late_after_s)
    with opened(job_queue.state) as con:
        taken = schedule.name in {active.name for active in schedules.active(con)}
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
    _check_times(job_queue, cron, late_after_s)
    with opened(job_queue.state) as con:
        before = next((active for active in schedules.active(con) if active.name == name), None)
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


def _check_times(job_queue: JobQueue, cron: str, late_after_s: float) -> None:
    """Refuse an invalid cron expression, or a time after which no run would ever be late."""
    try:
        due_before(cron, job_queue.clock())
    except check.BadRequest as error:
        raise job_queue.refuse("schedule", None, str(error)) from None
    if not 0 < late_after_s <= _LONGEST_LATE_S:
        most, hours = _LONGEST_LATE_S / 3600, late_after_s / 3600
        raise job_queue.refuse("schedule", None, f"--late-after must be at most {most:g} hours, not {hours:g}.")


def due_before(cron: str, now: float) -> float:
    """Return the newest time, Unix seconds, that an expression names and that is not after `now`.

    Raises:
        BadRequest: it is no expression, or names no time.
    """
    # The search goes back from `start`, which it excludes.
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
    """Return the time from which a schedule counts; a time in the future means that the clock was ahead."""
    return schedule.created_at if schedule.created_at <= now else 0.0


def submit_due(home: Path, clock: Callable[[], float], say: Callable[[str], None]) -> None:
    """Submit what is due and was not submitted; of several times that were missed the newest counts."""
    with opened(home / FILE_NAME) as con:
        now = clock()
        ticks = [(schedule, schedules.last_tick(con, schedule.schedule_id, now)) for schedule in schedules.active(con)]
    for schedule, last in ticks:
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
    """Submit a job under a key that names the time, so a second worker gets the same job."""
    person = Person(schedule.who, schedule.verified)
    access = Access(loopback=False, login=True) if schedule.verified else LOCAL
    job_queue = JobQueue(home, person, access, clock)
    job_id, reason = None, ""
    try:
        file = job_queue.allowed("submit", None)
        models = allowed_models(person, file.models)
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


Word = Literal["not due", "running", "complete", "late", "incomplete", "missing"]
NOTICED_WITHIN_S = 600.0
"""Seconds after which a due run that no worker has submitted counts as missing."""
_KEPT = 32
"""Number of runs whose progress is cached; only the newest run of each schedule is read."""


class RecurringStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring run and its newest time."""

    schedule: Schedule
    word: Word
    """`late`: not finished in time; `missing`: due but not submitted; `incomplete`: finished without all results."""
    due_at: float | None = None
    """Time in Unix seconds; None if it has not been due yet."""
    next_at: float | None = None
    job: Job | None = None
    planned_n: int | None = None
    """Number of runnable experiments; None if the run has not planned yet."""
    finished_n: int | None = None
    unfinished: tuple[str, ...] = ()
    """Experiments without a record, as `suite/model test backend`."""
    versions: tuple[str, ...] = ()
    """Package versions, one text for each environment, such as `torch 2.9.1, torch_xla 2.9.0`."""
    reason: str = ""


def standings(job_queue: JobQueue) -> list[RecurringStanding]:
    """Return the state of each recurring run of the home, by name."""
    if not job_queue.state.is_file():
        return []
    with opened(job_queue.state) as con:
        now = job_queue.clock()
        ticks = [(schedule, schedules.last_tick(con, schedule.schedule_id, now)) for schedule in schedules.active(con)]
        with_jobs = [
            (schedule, tick, jobs.get(con, tick.job_id) if tick and tick.job_id else None) for schedule, tick in ticks
        ]
    return [_standing(*parts, now, job_queue.home / "runs") for parts in with_jobs]


def _standing(schedule: Schedule, tick: Tick | None, job: Job | None, now: float, runs: Path) -> RecurringStanding:
    try:
        due_at, next_at = due_before(schedule.cron, now), due_after(schedule.cron, now)
    except check.BadRequest as error:
        return RecurringStanding(schedule=schedule, word="missing", reason=str(error))
    standing = RecurringStanding(schedule=schedule, word="not due", next_at=next_at)
    if due_at <= begun_at(schedule, now):
        return standing
    if tick is None or tick.due_at < due_at:
        if now - due_at <= NOTICED_WITHIN_S:
            return msgspec.structs.replace(standing, word="running", due_at=due_at, reason="about to be submitted")
        reason = "no worker has submitted it: start `xlabench worker` or `xlabench serve`"
        return msgspec.structs.replace(standing, word="missing", due_at=due_at, reason=reason)
    standing = msgspec.structs.replace(
        standing, due_at=tick.due_at, job=job, reason=tick.reason or (job.message if job else "")
    )
    if job is None:
        return msgspec.structs.replace(standing, word="missing")
    return _of_job(standing, job, now, runs)


def _of_job(standing: RecurringStanding, job: Job, now: float, runs: Path) -> RecurringStanding:
    standing = _with_progress(standing, job, runs)
    if not is_over(job):
        late = standing.due_at is not None and now - standing.due_at > standing.schedule.late_after_s
        return msgspec.structs.replace(standing, word="late" if late else "running")
    complete = job.state == "done" and standing.planned_n is not None and not standing.unfinished
    return msgspec.structs.replace(standing, word="complete" if complete else "incomplete")


def _with_progress(standing: RecurringStanding, job: Job, runs: Path) -> RecurringStanding:
    """Add how far the job's run has come: of a run of the home only, as anybody may have written the row."""
    folder = Path(job.folder or "").resolve()
    if not job.folder or not folder.is_relative_to(runs.resolve()):
        return standing
    try:
        planned, unfinished, versions = _progress(folder, _state(folder))
    except (OSError, RunFileError):
        return standing
    return msgspec.structs.replace(
        standing,
        planned_n=planned,
        finished_n=planned - len(unfinished),
        unfinished=unfinished,
        versions=versions,
    )


def _state(folder: Path) -> tuple[int, ...]:
    """Return what changes whenever a file of the run does."""
    stats = [path.stat() for path in (folder / RUN_FILE, *record_files(folder / RESULTS)) if path.exists()]
    return tuple(number for stat in stats for number in (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=_KEPT)
def _progress(folder: Path, state: tuple[int, ...]) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Return how many experiments a run could measure, which of them have no record, and its versions.

    Raises:
        RunFileError: its plan or its records cannot be read.
    """
    del state  # changed files are read again
    file = read_run_file(folder)
    wanted = {
        entry.key: f"{entry.config.suite_name}/{entry.config.model_name} {entry.config.test} {entry.backend}"
        for entry in file.plan
        if entry.runnable
    }
    have = {record.key for record in read_records(folder / RESULTS)}
    return len(wanted), tuple(text for key, text in wanted.items() if key not in have), _versions(file)


def _versions(file: RunFile) -> tuple[str, ...]:
    names, unknown = len(file.environments) > 1, "versions unknown"
    return tuple(
        (f"{environment.name}: " if names else "")
        + (", ".join(f"{name} {version}" for name in PACKAGES if (version := getattr(environment, name))) or unknown)
        for environment in file.environments
    )
