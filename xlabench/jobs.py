"""`xlabench jobs`: submit measurements and see their state."""

from __future__ import annotations

import argparse
import getpass
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner import flag, flags
from runner.backends import NAMES
from runner.home import settings_file
from runner.home.settings_file import Person
from runner.jobs import folder
from runner.jobs.queue import JobQueue, has_worker, is_over, lacks_confirmer
from runner.jobs.request import ConfirmRequest, JobRequest, RunRequest, of_flags
from store.errors import UsageError
from store.places import with_places
from xlabench import command
from xlabench.command import Parser, Verbs
from xlabench.jobs_text import details, line, table

if TYPE_CHECKING:
    from runner.jobs.request import Request
    from store.state.jobs import Job

_LOOK_EVERY_S = 0.25


def add(verbs: Verbs) -> None:
    """Add the verb, its actions and their flags."""
    parser = command.verb(
        verbs,
        "jobs",
        _list,
        "Submit, list, show, follow, cancel and retry jobs, which a worker runs.",
        "`xlabench worker` and `xlabench serve` run the queued jobs of a home, one per device at a time.",
    )
    actions = command.add_actions(parser, "submit|list|show|log|cancel|retry")
    submitting = command.action(actions, "submit", _submit, "queue a run; it accepts most flags of `xlabench run`")
    _add_submit(submitting)
    listing = command.action(actions, "list", _list, "list the newest jobs")
    command.add_limit(listing, "jobs")
    showing = command.action(actions, "show", _show, "show a job and the actions on it")
    reading = command.action(actions, "log", _log, "print the log of a job")
    reading.add_argument("--follow", action="store_true", help="keep printing until the job has finished")
    cancelling = command.action(actions, "cancel", _cancel, "cancel a job; its finished measurements are kept")
    retrying = command.action(actions, "retry", _retry, "resume a job that failed, was cancelled or was lost")
    for parser in (showing, reading, cancelling, retrying):
        parser.add_argument(
            "job_id", type=flag.positive, metavar="NUMBER", help="number of the job, as printed by `jobs list`"
        )
    for parser in (submitting, listing, showing, cancelling, retrying):
        command.add_format(parser, "json")
    for parser in (submitting, cancelling, retrying):
        command.add_who(parser)


def _add_submit(parser: Parser) -> None:
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    group = parser.add_argument_group("job")
    group.add_argument("--label", type=command.filled, help="name of the run (default: the names of its suites)")
    group.add_argument("--why", default="", metavar="TEXT", help="reason, shown in the queue")
    add_job_flags(group)
    group.add_argument(
        "--key", type=command.filled, metavar="TEXT", help="idempotency key: submitting it again returns the same job"
    )
    group.add_argument("--follow", action="store_true", help="print the job's log until it has finished")
    group.add_argument(
        "--confirm",
        nargs=2,
        metavar=("A", "B"),
        help="measure the suspected experiments of two sides again, as `compare A B --confirm` does; only "
        "--processes and --accelerator may be combined with it",
    )
    group.add_argument(
        "--cells", choices=["suspected", "all"], help="with --confirm: `all` includes the ambiguous experiments"
    )
    group.add_argument(
        "--run", metavar="RUN", help="with --confirm: run that contains the environments or backends A and B"
    )
    parser.show_first(
        (*flags.USUAL_OF_PLAN, "--processes", "--verify", "--label", "--why", "--priority", "--follow", "--home"),
        (
            "jobs submit --smoke --follow",
            "jobs submit --suite-name timm_models --filter resnet --backend inductor --env nightly",
            "jobs submit --confirm previous latest",
        ),
    )


def add_job_flags(group: argparse._ActionsContainer) -> None:
    """Add the flags of every job, also of a recurring one."""
    group.add_argument(
        "--accelerator-model",
        metavar="NAME",
        help="wait for a host with this device model, as named in records ('NVIDIA H200')",
    )
    group.add_argument(
        "--priority", type=int, default=0, metavar="N", help="from -100 to 100; higher runs first (default: 0)"
    )
    group.add_argument("--timeout", type=flag.above_zero, metavar="S", help="time limit of one attempt in seconds")


def _submit(parsed: argparse.Namespace) -> int:
    request = _request(parsed)
    refuse_unknown_names(request, command.home_of(parsed))
    job_request = JobRequest(
        request=request,
        label=parsed.label or _label(request),
        why=parsed.why,
        key=parsed.key or "",
        priority=parsed.priority,
        timeout_s=parsed.timeout,
    )
    job_queue = job_queue_of(parsed)
    job = job_queue.submit(job_request)
    _print(parsed, job_queue, job)
    warn_without_worker(parsed, confirms=parsed.confirm is not None)
    return _follow(job_queue, job.job_id, command.places_of(parsed)) if parsed.follow else command.EXIT_DONE


def _request(parsed: argparse.Namespace) -> Request:
    """Return the requested measurement.

    Raises:
        UsageError: flags that do not go together, or that a job cannot have.
    """
    if parsed.confirm is None:
        if parsed.cells or parsed.run:
            raise UsageError("--cells and --run require --confirm A B.")
        return of_flags(parsed)
    local_request = flags.read(parsed)
    if local_request.given - {"processes", "accelerator"}:
        raise UsageError(
            "--confirm repeats experiments of A and B; only --processes and --accelerator may be combined with it."
        )
    old, new = parsed.confirm
    fields = {"kind": "confirm", "old": old, "new": new, "run": parsed.run, "cells": parsed.cells or "suspected"}
    fields |= {"processes": local_request.protocol.processes, "accelerator": local_request.selection.accelerator}
    try:
        return msgspec.convert(fields, ConfirmRequest)
    except msgspec.ValidationError as error:
        raise UsageError(_refused(str(error), fields)) from None


def _refused(error: str, fields: Mapping[str, object]) -> str:
    """Say in a sentence what the structure of a confirmation refuses; its own words are a pattern and a path."""
    name = error.rpartition("`$.")[2].rstrip("`")
    if name == "processes":
        return "--confirm requires at least 3 processes (--processes), so that a verdict is possible."
    flag = "--run" if name == "run" else "--confirm"
    known = "a run" if name == "run" else "a run, an environment or a backend"
    return f"{flag}: {fields.get(name)!r} cannot be the name of {known}; see `xlabench compare --help`."


def refuse_unknown_names(request: Request, home: Path) -> None:
    """Check backends, optimizer and compiler settings that only torch knows, as `run` does; else ask no interpreter.

    Raises:
        UsageError: no environment of the request has one.
    """
    if not isinstance(request, RunRequest):
        return
    selection, configuration = request.selection, request.configuration
    backends = {*selection.backend, *selection.dynamo} - {None}
    settings = (configuration.with_optimizer, *configuration.dynamo_config, *configuration.inductor_config)
    if not NAMES.keys() >= backends or any(settings):
        from runner.plan import LocalRequest, interpreters

        named = settings_file.interpreters(home, settings_file.read(home))
        interpreters.requested(LocalRequest.of_job(request), named)


def _label(request: Request) -> str:
    if not isinstance(request, RunRequest):
        return f"confirm {request.old} {request.new}"
    if request.plan is not None:
        return "+".join(dict.fromkeys(str(experiment.config["suite_name"]) for experiment in request.plan.experiments))
    chosen = request.selection
    if chosen.ops_of:
        return f"ops of {chosen.ops_of}"
    named = ("operators",) if chosen.config else tuple(model.partition("/")[0] for model in chosen.only)
    suites = chosen.suite_name or tuple(dict.fromkeys(named))
    return "smoke" if chosen.smoke else "+".join(suites) or "all"


def job_queue_of(parsed: argparse.Namespace) -> JobQueue:
    """Return the home's queue as the user reaches it."""
    return JobQueue(command.home_of(parsed), Person(getattr(parsed, "who", None) or getpass.getuser()))


def warn_without_worker(parsed: argparse.Namespace, *, confirms: bool = False) -> None:
    """Warn if no worker would run a job."""
    if not has_worker(command.home_of(parsed)):
        command.say(
            with_places(
                "No worker is running for this home on this machine. Start `xlabench worker` or `xlabench serve`.",
                *command.places_of(parsed),
            ),
            command.EXIT_DONE,
        )
    elif confirms and lacks_confirmer(command.home_of(parsed)):
        command.say(
            with_places(
                "A cluster's worker cannot run confirmations. Start `xlabench worker` on this machine as well.",
                *command.places_of(parsed),
            ),
            command.EXIT_DONE,
        )


def _list(parsed: argparse.Namespace) -> int:
    command.existing_home_of(parsed)
    job_queue = job_queue_of(parsed)
    jobs = job_queue.listed(parsed.limit)
    alone = {job.job_id: job_queue.unfollowed_reason(job) for job in jobs}
    if jobs or parsed.format == "json":
        command.print_placed(parsed, table(jobs, job_queue.positions(), parsed.format, alone))
    else:
        print("There are no jobs.")
    return command.EXIT_DONE


def _show(parsed: argparse.Namespace) -> int:
    job_queue, job = _named(parsed)
    _print(parsed, job_queue, job, whole=True)
    return command.EXIT_DONE


def _named(parsed: argparse.Namespace) -> tuple[JobQueue, Job]:
    job_queue = job_queue_of(parsed)
    job = job_queue.job(parsed.job_id)
    if job is None:
        raise UsageError(f"There is no job {parsed.job_id}. Run `xlabench jobs list` to see all jobs.")
    return job_queue, job


def _print(parsed: argparse.Namespace, job_queue: JobQueue, job: Job, *, whole: bool = False) -> None:
    alone = job_queue.unfollowed_reason(job)
    if whole or parsed.format == "json":
        command.print_placed(parsed, details(job, job_queue.actions(job.job_id), parsed.format, alone))
    else:
        command.print_placed(parsed, f"{line(job, alone)}\n")


def _cancel(parsed: argparse.Namespace) -> int:
    job_queue = job_queue_of(parsed)
    _print(parsed, job_queue, job_queue.cancel(parsed.job_id))
    return command.EXIT_DONE


def _retry(parsed: argparse.Namespace) -> int:
    job_queue = job_queue_of(parsed)
    _print(parsed, job_queue, job_queue.retry(parsed.job_id))
    warn_without_worker(parsed)
    return command.EXIT_DONE


def _log(parsed: argparse.Namespace) -> int:
    job_queue, job = _named(parsed)
    if parsed.follow:
        return _follow(job_queue, job.job_id, command.places_of(parsed))
    if job.attempts:
        sys.stdout.buffer.write(folder.of(job_queue.home, job.job_id, job.attempts).read_log())
        return command.EXIT_DONE
    return command.say(f"Job {job.job_id} has not started, so it has no log.", command.EXIT_DONE)


def _follow(job_queue: JobQueue, job_id: int, places: tuple[Path, Path]) -> int:
    """Print the log as it grows, of each attempt in turn, until the job is over; Ctrl-C leaves the job running."""
    shown, attempt, offset = "", 0, 0
    while (job := job_queue.job(job_id)) is not None:
        over = is_over(job)
        if job.attempts != attempt:
            attempt, offset = job.attempts, 0
        if attempt:
            text = folder.of(job_queue.home, job_id, attempt).read_log(offset)
            offset += len(text)
            sys.stdout.buffer.write(text)
        if (now := line(job, job_queue.unfollowed_reason(job))) != shown:
            print(with_places(shown := now, *places), file=sys.stderr)
        sys.stdout.flush()
        if over:
            return command.EXIT_DONE if job.state == "done" else command.EXIT_FINDINGS
        time.sleep(_LOOK_EVERY_S)
    return command.EXIT_USAGE
