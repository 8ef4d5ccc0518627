"""How a recurring run stands: whether last night's is complete, late, or what of it is missing."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from runner.jobs import check, recurring
from runner.jobs.queue import JobQueue, is_over
from store.errors import RunFileError
from store.run_file import RESULTS, RUN_FILE, read_records, read_run_file, record_files
from store.state import jobs, schedules
from store.state.database import opened
from store.state.jobs import Job
from store.state.schedules import Schedule, Tick

if TYPE_CHECKING:
    from store.record import Environment, RunFile

Word = Literal["not due", "running", "complete", "late", "incomplete", "missing"]
NOTICED_WITHIN_S = 600.0
"""After it was due, a run that no worker has submitted is missing."""
_PACKAGES = ("torch", "torch_xla", "torchvision", "transformers", "timm", "torchax", "jax")
_KEPT = 32
"""Runs whose progress is kept: only the newest of each recurring run is looked at."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring run and its newest time."""

    schedule: Schedule
    word: Word
    """`late`: not over when it should be; `missing`: due, and nobody submitted it; `incomplete`: over without all."""
    due_at: float | None = None
    """Unix seconds; None: it has not been due yet."""
    next_at: float | None = None
    job: Job | None = None
    planned_n: int | None = None
    """Experiments that could be measured, where the run has got so far."""
    finished_n: int | None = None
    unfinished: tuple[str, ...] = ()
    """Those without a record, as `suite/model test backend`."""
    versions: tuple[str, ...] = ()
    """What it measures with, one text for each environment, as `torch 2.9.1, torch_xla 2.9.0`."""
    reason: str = ""


def standings(job_queue: JobQueue) -> list[Standing]:
    """Return how each recurring run of the home stands, by name."""
    if not job_queue.state.is_file():
        return []
    with opened(job_queue.state) as con:
        now = job_queue.clock()
        found = [(each, schedules.last_tick(con, each.schedule_id, now)) for each in schedules.active(con)]
        with_jobs = [(each, tick, jobs.get(con, tick.job_id) if tick and tick.job_id else None) for each, tick in found]
    return [_standing(*each, now, job_queue.home / "runs") for each in with_jobs]


def _standing(schedule: Schedule, tick: Tick | None, job: Job | None, now: float, runs: Path) -> Standing:
    try:
        due_at, next_at = recurring.due_before(schedule.cron, now), recurring.due_after(schedule.cron, now)
    except check.BadRequest as error:
        return Standing(schedule=schedule, word="missing", reason=str(error))
    made = Standing(schedule=schedule, word="not due", next_at=next_at)
    if due_at <= recurring.begun_at(schedule, now):
        return made
    if tick is None or tick.due_at < due_at:
        if now - due_at <= NOTICED_WITHIN_S:
            return msgspec.structs.replace(made, word="running", due_at=due_at, reason="about to be submitted")
        reason = "no worker has submitted it: start `xlabench worker` or `xlabench serve`"
        return msgspec.structs.replace(made, word="missing", due_at=due_at, reason=reason)
    made = msgspec.structs.replace(
        made, due_at=tick.due_at, job=job, reason=tick.reason or (job.message if job else "")
    )
    if job is None:
        return msgspec.structs.replace(made, word="missing")
    return _of_job(made, job, now, runs)


def _of_job(made: Standing, job: Job, now: float, runs: Path) -> Standing:
    made = _with_progress(made, job, runs)
    if not is_over(job):
        late = made.due_at is not None and now - made.due_at > made.schedule.late_after_s
        return msgspec.structs.replace(made, word="late" if late else "running")
    complete = job.state == "done" and made.planned_n is not None and not made.unfinished
    return msgspec.structs.replace(made, word="complete" if complete else "incomplete")


def _with_progress(made: Standing, job: Job, runs: Path) -> Standing:
    """Add how far the job's run has come: of a run of the home only, as anybody may have written the row."""
    folder = Path(job.folder or "").resolve()
    if not job.folder or not folder.is_relative_to(runs.resolve()):
        return made
    try:
        planned, unfinished, versions = _progress(folder, _state(folder))
    except (OSError, RunFileError):
        return made
    return msgspec.structs.replace(
        made,
        planned_n=planned,
        finished_n=planned - len(unfinished),
        unfinished=unfinished,
        versions=versions,
    )


def _state(folder: Path) -> tuple[int, ...]:
    """Return what changes whenever a file of the run does."""
    found = [path.stat() for path in (folder / RUN_FILE, *record_files(folder / RESULTS)) if path.exists()]
    return tuple(number for each in found for number in (each.st_mtime_ns, each.st_size))


@lru_cache(maxsize=_KEPT)
def _progress(folder: Path, state: tuple[int, ...]) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Return how many experiments a run could measure, which of them have no record, and its versions.

    Raises:
        RunFileError: its plan or its records cannot be read.
    """
    del state  # files that have changed are read anew
    file = read_run_file(folder)
    wanted = {
        (each.experiment_id, each.environment): f"{each.config.suite_name}/{each.config.model_name} "
        f"{each.config.test} {each.backend}"
        for each in file.plan
        if each.runnable
    }
    have = {(record.experiment_id, record.environment.name) for record in read_records(folder / RESULTS)}
    return len(wanted), tuple(text for key, text in wanted.items() if key not in have), _versions(file)


def _versions(file: RunFile) -> tuple[str, ...]:
    names = len(file.environments) > 1
    return tuple(f"{each.name}: {_packages(each)}" if names else _packages(each) for each in file.environments)


def _packages(environment: Environment) -> str:
    found = {name: getattr(environment, name) for name in _PACKAGES}
    return ", ".join(f"{name} {version}" for name, version in found.items() if version) or "versions unknown"
