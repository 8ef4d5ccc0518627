"""`xlabench schedule`: recurring runs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from runner import flag, flags
from runner.jobs.check import plain
from runner.jobs.request import JobRequest, of_flags
from xlabench.command import (
    EXIT_DONE,
    EXIT_FINDINGS,
    Parser,
    Verbs,
    action,
    add_actions,
    add_format,
    add_who,
    existing_home_of,
    home_of,
    print_placed,
    verb,
)
from xlabench.jobs import add_job_flags, job_queue_of, refuse_unknown_names, warn_without_worker
from xlabench.jobs_text import as_json, moment

if TYPE_CHECKING:
    from runner.jobs.recurring import RecurringStanding

_LATE_AFTER_H = 12.0
_SHOWN_N = 20
"""Maximum number of unfinished experiments that are printed."""


def add(verbs: Verbs) -> None:
    """Add the verb, its actions and their flags."""
    parser = verb(
        verbs,
        "schedule",
        _list,
        "Schedule recurring runs, and show whether the last one is complete.",
        "The home's worker submits one job each time a run is due.",
    )
    actions = add_actions(parser, "add|list|remove")
    adding = action(actions, "add", _add, "schedule a recurring run; it accepts most flags of `xlabench run`")
    _add_add(adding)
    listing = action(actions, "list", _list, "list the recurring runs and the state of their last run")
    add_format(listing, "json")
    listing.add_argument("--strict", action="store_true", help="exit with 1 if a run is late, incomplete or missing")
    removing = action(actions, "remove", _remove, "remove a recurring run; its results are kept")
    removing.add_argument(
        "schedule_name", metavar="NAME", help="name of the recurring run, as printed by `schedule list`"
    )
    add_who(adding)
    add_who(removing)


def _add_add(parser: Parser) -> None:
    parser.add_argument("schedule_name", metavar="NAME", help="name of the recurring run, and the label of its runs")
    parser.add_argument(
        "cron", metavar="CRON", help="cron expression with five fields in UTC; '0 2 * * *' runs every day at 02:00"
    )
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    group = parser.add_argument_group("job")
    add_job_flags(group)
    group.add_argument(
        "--late-after",
        type=flag.above_zero,
        default=_LATE_AFTER_H,
        metavar="H",
        help="report a run as late after H hours (default: 12)",
    )
    parser.show_first(
        (
            *flags.USUAL_OF_PLAN,
            "--processes",
            "--verify",
            "--accelerator-model",
            "--priority",
            "--late-after",
            "--home",
        ),
        ("schedule add nightly '0 2 * * *' --suite-name timm_models --backend eager --backend inductor",),
    )


def _add(parsed: argparse.Namespace) -> int:
    from runner.jobs import recurring

    request = of_flags(parsed)
    refuse_unknown_names(request, home_of(parsed))
    job_request = JobRequest(
        request=request,
        label=parsed.schedule_name,
        priority=parsed.priority,
        timeout_s=parsed.timeout,
    )
    job_queue = job_queue_of(parsed)
    schedule = recurring.add(job_queue, parsed.cron, job_request, 3600 * parsed.late_after)
    due = moment(recurring.due_after(schedule.cron, job_queue.clock()))
    print(f"The recurring run {schedule.name} is scheduled; it is next due at {due} UTC.")
    warn_without_worker(parsed)
    return EXIT_DONE


def _remove(parsed: argparse.Namespace) -> int:
    from runner.jobs import recurring

    recurring.remove(job_queue_of(parsed), parsed.schedule_name)
    print(f"Removed the recurring run {parsed.schedule_name}; its results are kept.")
    return EXIT_DONE


def _list(parsed: argparse.Namespace) -> int:
    from runner.jobs.recurring import standings

    existing_home_of(parsed)
    all_standings = standings(job_queue_of(parsed))
    if parsed.format == "json":
        sys.stdout.write(as_json(all_standings))
    else:
        print_placed(parsed, ("\n".join(map(_lines, all_standings)) or "There are no recurring runs.") + "\n")
    wrong = [standing for standing in all_standings if standing.word in ("late", "incomplete", "missing")]
    return EXIT_FINDINGS if wrong and parsed.strict else EXIT_DONE


def _lines(standing: RecurringStanding) -> str:
    schedule, job = standing.schedule, standing.job
    due = f" since {moment(standing.due_at)}" if standing.due_at else ""
    count = f", {standing.finished_n} of {standing.planned_n} experiments" if standing.planned_n is not None else ""
    of_job = f", job {job.job_id} {job.state}" if job else ""
    reason = f" ({standing.reason})" if standing.reason else ""
    first = f"{schedule.name}  {schedule.cron}  {standing.word}{due}{count}{of_job}{reason}"
    first += f"  next {moment(standing.next_at)}" if standing.next_at else ""
    versions = [f"  with {text}" for text in standing.versions]
    missing = [f"  not measured: {text}" for text in standing.unfinished[:_SHOWN_N]]
    more = len(standing.unfinished) - _SHOWN_N
    return "\n".join(map(plain, [first, *versions, *missing, *([f"  … and {more} more"] if more > 0 else [])]))
