"""Measure a plan and ingest its records, for `run`, `calibrate` and `compare --confirm`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from runner import flags, plan
from runner.home import settings_file
from runner.jobs.folder import record_run
from runner.plan.selection import FILE
from store.errors import StorageError, UsageError, counted
from store.state import FILE_NAME
from xlabench import command, own
from xlabench.command import Parser
from xlabench.own import without_folders

if TYPE_CHECKING:
    from runner.plan import LocalRequest, Plan
    from runner.plan.interpreters import Interpreter
    from runner.plan.selection import Extracted
    from runner.schedule.execute import ExecutionResult
    from runner.schedule.run_folder import RunFolder
    from runner.schedule.scheduler import History
    from runner.settings import OwnModel, Settings
    from runner.suites.base import TriedModel
    from store.query import Connection
    from store.record import PlanEntry

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A request, the interpreters that it needs, and its plan."""

    request: LocalRequest
    interpreters: tuple[Interpreter, ...]
    plan: Plan
    code: int
    """Exit code that follows from missing suites."""
    operators: Extracted | None = None
    """The recorded operators of `--ops-of`."""


def planned(request: LocalRequest, home: Path, typed: own.TypedModels) -> Planned:
    """Plan a request under the home's `xlabench.toml`; report missing suites."""
    from runner.plan import interpreters, selection

    file = settings_file.read(home)
    request = settings_file.with_limits(request, home, file)
    operators = selection.extract(request) if request.selection.ops_of is not None else None
    named_suites = ("operators",) if operators else request.selection.suite_name
    request = operators.narrow(request) if operators else request
    named = settings_file.interpreters(home, file)
    request, listed = own.with_listed(request, home, file)
    there = interpreters.requested(request, named)  # refuses a mistyped name before the user's own models are tried
    request = own.with_own(request, listed or typed, named)
    there = interpreters.with_sources(there, request)
    plan = interpreters.make_plan(request, there)
    code = _report_missing(named_suites, plan)
    return Planned(request=request, interpreters=there, plan=plan, code=code, operators=operators)


def _report_missing(named: tuple[str, ...], plan: Plan) -> int:
    """Report missing suites: an empty plan is a usage error, a missing suite that was named makes the run partial."""
    missing, empty = plan.missing_suites, not plan.entries
    for suite, reason in missing.items():
        command.say(reason if suite in named else f"Skipped: {reason}", command.EXIT_PARTIAL)
    if empty and set(missing) & set(named):
        return command.EXIT_USAGE
    if empty:
        return command.say("No experiment matches. Relax --suite-name, --filter or --exclude.", command.EXIT_USAGE)
    return command.EXIT_PARTIAL if set(missing) & set(named) else command.EXIT_DONE


CONFIRM_ABOVE_N = 100
"""Number of experiments above which a user at a terminal who named no suite or model has to confirm: about an hour."""
USUAL = (
    *("--suite-name", "--only", "--filter", "--backend", "--test", "--accelerator", "--smoke", "--quick"),
    *("--processes", "--verify", "--output-dirname", "--retry-failed", "--dry-run", "--home"),
)
"""Flags that `--help` shows."""


def add_run_flags(parser: Parser) -> None:
    """Add what `run` and `calibrate` take."""
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    command.add_database(parser)
    group = parser.add_argument_group("run")
    group.add_argument(
        "--output-dirname",
        type=command.path,
        metavar="DIR",
        help="folder of the run; an unfinished run in it is resumed",
    )
    group.add_argument("--label", type=command.filled, help="name of the run (default: the names of its suites)")
    group.add_argument(
        "--no-resume", action="store_true", help="start a new run; an earlier run in the folder is renamed"
    )
    group.add_argument(
        "--retry-failed", action="store_true", help="when resuming, measure groups that contain failures again"
    )
    group.add_argument("--dry-run", action="store_true", help="print the plan and exit without measuring")
    group.add_argument("--no-ingest", action="store_true", help="do not add the records to the store")
    group.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if an experiment failed, could not be verified, or gave a wrong answer, or all are skipped",
    )
    add_no_wait(group)


def add_no_wait(group: argparse._ActionsContainer) -> None:
    """Add the flag that refuses instead of waiting for a device."""
    group.add_argument(
        "--no-wait",
        action="store_true",
        help="exit with an error if another run uses the device, instead of waiting for it",
    )


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run and its records go, and how its command treats them."""

    home: Path
    store: Path
    command: str
    """The command, as the run stores it."""
    ingest: bool = True
    output: Path | None = None
    """Folder of the run; None means an unfinished one of the home, or a new one."""
    label: str | None = None
    resume: bool = True
    retry_failed: bool = False
    strict: bool = False
    wait: bool = True

    @classmethod
    def of(cls, parsed: argparse.Namespace, own: Sequence[TriedModel] = ()) -> Place:
        """Return the place that the flags of `run` name; `own` are the models that they name.

        Raises:
            UsageError: the flags contradict each other.
        """
        if parsed.retry_failed and parsed.no_resume:
            raise UsageError("--retry-failed resumes a run, and --no-resume starts a new one; use one.")
        return cls(
            home=command.home_of(parsed),
            store=command.store_of(parsed),
            command=flags.command_line(without_folders(parsed, own)),
            ingest=not parsed.no_ingest,
            output=parsed.output_dirname,
            label=parsed.label,
            resume=not parsed.no_resume,
            retry_failed=parsed.retry_failed,
            strict=parsed.strict,
            wait=not parsed.no_wait,
        )


def stops_before(planned: Planned, settings: Settings, store: Path, *, dry_run: bool) -> int | None:
    """Return the exit code of a command that measures nothing; None where it does."""
    if planned.code == command.EXIT_USAGE:
        return planned.code
    if dry_run:
        print_plan(planned)
        return planned.code
    if not _is_selected(planned.request) and not _user_agrees(planned.plan.runnable, settings, store):
        return command.say("Cancelled. No experiment was measured.", command.EXIT_INTERRUPTED)
    return None


def print_plan(planned: Planned) -> None:
    """Print the matrix of experiments, and the packages that the models need and that are not installed."""
    from runner.plan import plan_view

    plan_view.print_matrix(planned.plan, sys.stdout)
    for sentence in plan.missing_packages(planned.plan, planned.request):
        print(sentence)


def measure(planned: Planned, settings: Settings, place: Place, afterwards: Callable[[str], None] | None = None) -> int:
    """Measure a plan; `afterwards` is told the run once its records are in the store."""
    from runner.plan import plan_view
    from runner.schedule import run_folder

    run_plan, request = planned.plan, planned.request
    for sentence in plan.missing_packages(run_plan, request):
        print(sentence)
    folder = run_folder.open_folder(
        place.home,
        place.output,
        run_folder.new_run(
            run_plan,
            planned.interpreters,
            settings,
            label=place.label or plan.label(run_plan),
            command=place.command,
        ),
        resume=place.resume,
        retry_failed=place.retry_failed,
    )
    print(plan_view.headline(run_plan, folder.path, resumed=folder.resumed))
    for own_model in request.own:
        if own_model.model.further_files:
            print(f"The hash of {own_model.model.name} also covers {', '.join(own_model.model.further_files)}.")
    if planned.operators is not None:
        _keep(planned.operators, folder)
    result = carry_out(
        folder,
        planned.interpreters,
        place,
        sys.stdout,
        torchbench_dir=request.torchbench_dir,
        own={own_model.model.name: own_model.model for own_model in request.own},
        history=_history(place.store, request.protocol.retry_new_failures, folder.file.run.run_id),
    )
    _report_results(place, folder, afterwards)
    if planned.operators is not None:
        _print_totals(planned.operators, folder)
    if not run_plan.runnable:
        command.say("Nothing was measured: every experiment of the plan is skipped.", command.EXIT_PARTIAL)
        return command.EXIT_FINDINGS if place.strict else command.EXIT_PARTIAL
    if (result.failed or result.wrong) and place.strict:
        return command.EXIT_FINDINGS
    return max(planned.code, _partial(folder)) if request.own else planned.code


def _partial(folder: RunFolder) -> int:
    """Return the exit code of a run of one's own models: partial where one is too large for the machine."""
    from store.run_file import read_records

    statuses = {record.status for record in read_records(folder.results)}
    return command.EXIT_PARTIAL if "oom" in statuses else command.EXIT_DONE


def _report_results(place: Place, folder: RunFolder, afterwards: Callable[[str], None] | None) -> None:
    """Report the run's results from the store, or where its records are."""
    from store import changepoints
    from store.report.payoffs import sentences

    if not place.ingest:
        if folder.settings.purpose == "benchmark":
            where = shlex.quote(str(folder.path))
            print(f"The records were not added to the store. To see speedups: xlabench report {where}")
        return
    changepoints.update(place.store, place.home / FILE_NAME)
    if folder.settings.purpose == "payoff":
        with command.index_of(place.store) as con:
            print("\n".join(sentences(con, folder.file.run.run_id)))
    if afterwards is not None:
        afterwards(folder.file.run.run_id)


def _is_selected(request: LocalRequest) -> bool:
    """Say whether a request names suites or models, a plan, or models of the user's own."""
    parts = request.selection, request
    selected = any(getattr(part, name, None) for part in parts for name in own.SELECTING)
    return bool(selected or request.request.plan or request.own)


def _user_agrees(runnable: Sequence[PlanEntry], settings: Settings, store: Path) -> bool:
    """Say how much is measured where nothing was selected; ask a user at a terminal whether so much should be."""
    models = {(entry.config.suite_name, entry.config.model_name) for entry in runnable}
    backends = {entry.backend for entry in runnable}
    print(
        "No suite or model is named, so everything is planned: "
        f"{counted(len(runnable), 'experiment')} of {counted(len(models), 'model')} under "
        f"{counted(len(backends), 'backend')}.\n{_expected_duration(runnable, settings, store)}\n"
        "To see the plan first, add --dry-run. To narrow it, add --suite-name, --filter, --only, --backend or --test; "
        "--smoke takes only minutes.",
        flush=True,
    )
    if len(runnable) <= CONFIRM_ABOVE_N or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    try:
        return input("Measure all of them? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def _expected_duration(runnable: Sequence[PlanEntry], settings: Settings, store: Path) -> str:
    """Say how long a plan takes, judging by earlier runs; nothing is guessed of experiments that they lack."""
    from runner.schedule.progress import duration
    from store.estimate import Estimate, estimate

    timed = settings.verify != "only"  # no earlier run tells how long a verification alone takes
    known = _ask_index(store, lambda con: estimate(con, runnable, settings.records)) if timed else None
    known = known or Estimate()
    if not known.known_n:
        return "How long they take is unknown: no earlier run in the store tells."
    subject, rest = "They", ""
    if known.unknown_n:
        subject = f"{known.known_n:,} of them"
        rest = "; how long the rest takes is unknown"
    earlier = counted(known.records_n, "record")
    return f"{subject} take about {duration(known.seconds)}, judging by {earlier} of earlier runs{rest}."


def _keep(extracted: Extracted, folder: RunFolder) -> None:
    """Store the operators' configuration in the run's folder, and print a summary."""
    path = folder.path / FILE
    path.write_text(extracted.text, encoding="utf-8")
    print(f"{extracted.sentence()}\nThe operators' configuration is stored in {path}.")


def _print_totals(extracted: Extracted, folder: RunFolder) -> None:
    from runner.suites.operators.totals import sentences, totals
    from store.run_file import read_records

    print("\n".join(sentences(totals(read_records(folder.results), extracted.source), extracted.source)))


def carry_out(
    folder: RunFolder,
    interpreters: Sequence[Interpreter],
    place: Place,
    out: TextIO,
    *,
    torchbench_dir: Path | None,
    own: Mapping[str, OwnModel],
    history: History | None = None,
) -> ExecutionResult:
    """Measure the remaining experiments of a run, ingest their records meanwhile, and print a summary on `out`."""
    from runner.schedule import execute
    from store.ingest.run import Follower

    record_run(folder.file.run.run_id, folder.path)
    follower = Follower(folder.path, place.store) if place.ingest else None
    until = None
    if follower and folder.settings.until_verdict:
        from xlabench.until_verdict import UntilVerdict

        until = UntilVerdict(folder=folder, follower=follower)
    try:
        result = execute.execute(
            folder,
            interpreters,
            torchbench_dir=torchbench_dir,
            own=own,
            retry_failed=place.retry_failed,
            history=history,
            on_record=follower.ingest_if_due if follower else None,
            further=until,
            wait=place.wait,
            home=place.home,
        )
    finally:
        ingested = follower.finish() if follower else None
    print(result.sentence(), file=out)
    if follower and ingested:
        print(f"Ingested {counted(follower.records_n, 'new record')} into index {ingested.snapshot}.", file=out)
        if until is not None:
            print(until.report(), file=out)
    return result


def _history(store: Path, retries: int, run_id: str) -> History:
    """Return what the store's newest index says of earlier runs; without one, nothing has passed before."""
    from runner.schedule.scheduler import History
    from store.query import fetch, named

    rows = _ask_index(store, lambda con: fetch(con, named("passed"), {"run_id": run_id})) if retries else None
    if rows is None:
        return History()
    passed = frozenset((row["experiment_id"], row["environment"]) for row in rows)
    return History(passed, retries)


def _ask_index(store: Path, ask: Callable[[Connection], _Answer]) -> _Answer | None:
    """Return what the store's newest index answers; None without an index that can be read."""
    from store.query import connect, current_snapshot

    snapshot = current_snapshot(store)
    if snapshot is None:
        return None
    try:
        with connect(snapshot) as con:
            return ask(con)
    except StorageError:  # the index of an earlier version, which this run's first record upgrades
        return None
