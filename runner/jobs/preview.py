"""What a request would measure, before anybody asks for it: its experiments, runnable or skipped with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner import plan
from runner.home import settings_file
from runner.jobs import check
from runner.jobs.request import RunRequest, encode
from runner.plan import interpreters, plan_file
from runner.plan.entries import cannot_run, make_entry
from runner.plan.interpreters import Interpreter
from runner.plan.protocol import settings
from runner.plan.request import PlanFile
from runner.settings import Settings
from store.errors import XlabenchError
from store.record import PlanEntry


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The plan of a request on this machine."""

    runnable: tuple[PlanEntry, ...]
    skipped: tuple[PlanEntry, ...]
    missing_suites: dict[str, str]
    """Suites that could not be listed, with reasons."""
    lacking: tuple[str, ...]
    """Sentences about packages that its models need and that are not installed."""
    processes: int
    """Number of measuring processes per experiment."""


def preview(request: RunRequest, home: Path) -> Preview:
    """Plan a request as its job would; interpreters that it names are asked what they offer.

    Where the operators of a model are asked for, it is the model alone: they are recorded when the job runs.

    Raises:
        BadRequest: it cannot be carried out; the sentence is the one of submitting it.
    """
    file = settings_file.read(home)
    check.read(encode(request), file.jobs.request_bytes, file.environments)
    try:
        local_request = check.before_it_runs(request)
        environments = interpreters.look(local_request, settings_file.interpreters(home, file))
        if request.plan is not None:
            return _of_plan(request, request.plan, environments)
        made_plan = interpreters.make_plan(local_request, environments)
    except XlabenchError as error:
        raise check.BadRequest(str(error)) from None
    return Preview(
        runnable=made_plan.runnable,
        skipped=made_plan.skipped,
        missing_suites=made_plan.missing_suites,
        lacking=tuple(plan.missing_packages(made_plan, local_request)),
        processes=settings(local_request).replicas,
    )


def _of_plan(request: RunRequest, file: PlanFile, environments: tuple[Interpreter, ...]) -> Preview:
    machines = {environment.name: environment.machine for environment in environments}
    entries = [
        make_entry(
            config,
            entry.environment,
            entry.skip_reason or cannot_run(config, machines[entry.environment]),
            entry.notes,
            entry.in_spite_of,
        )
        for entry, config in plan_file.checked(file, "the request's plan")
        if entry.environment in machines
    ]
    return Preview(
        runnable=tuple(entry for entry in entries if entry.runnable),
        skipped=tuple(entry for entry in entries if not entry.runnable),
        missing_suites={},
        lacking=(),
        processes=request.protocol.processes or int(file.settings.get("processes", Settings().processes)),
    )
