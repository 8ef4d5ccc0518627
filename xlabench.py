"""The command `xlabench`: plan, run, calibrate, ingest, report, compare, serve, sql.

The only composer: it may import every room, each verb when it is used, so that a verb needs no more packages
than its work.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.environments.interpreters import Interpreter
    from runner.messages import Settings
    from runner.plan import PlanRequest
    from runner.schedule.history import History
    from store.follow import Follower
    from store.ingest import IngestReport
    from store.query import Connection
    from store.report import Report

    Verbs = argparse._SubParsersAction["_Parser"]  # noqa: SLF001 - argparse names the type of `add_subparsers` only so

EXIT_DONE, EXIT_FINDINGS, EXIT_USAGE, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 2, 3, 130

_EPILOG = "Exit codes: 0 done, 1 findings, 2 usage, 3 partial, 130 interrupted."


class _Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with one sentence."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parsed = _parser().parse_args(words)
    parsed.words = words
    try:
        return int(parsed.verb(parsed))
    except KeyboardInterrupt:
        return _say("Interrupted.", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would complain while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except OSError as error:
        if error.filename is None:
            raise
        return _say(f"{error.filename}: {error.strerror}. Check the path and who may write there.", EXIT_USAGE)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        return _say(str(error), int(code))


def _say(text: str, code: int) -> int:
    print(f"xlabench: {text}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="xlabench", description="Who is faster, by how much, and why.", epilog=_EPILOG)
    parser.add_argument("--version", action="version", version="%(prog)s 0.1.0")
    verbs = parser.add_subparsers(dest="name", required=True, metavar="VERB", parser_class=_Parser)
    for add in (_add_plan, _add_run, _add_calibrate, _add_ingest, _add_report, _add_compare, _add_serve, _add_sql):
        add(verbs)
    return parser


def _verb(verbs: Verbs, name: str, verb: Callable[..., int], text: str) -> _Parser:
    parser = verbs.add_parser(name, help=text.split(".", maxsplit=1)[0], description=text, epilog=_EPILOG)
    parser.set_defaults(verb=verb)
    parser.add_argument("--home", type=Path, metavar="DIR", help="runs and store ($XLABENCH_HOME, ./xlabench-data)")
    return parser


def _home(parsed: argparse.Namespace) -> Path:
    return Path(parsed.home or os.environ.get("XLABENCH_HOME") or "xlabench-data")


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", type=Path, metavar="DIR", help="store folder (default: `store` in the home)")


def _store(parsed: argparse.Namespace) -> Path:
    return parsed.database or _home(parsed) / "store"


def _add_plan(verbs: Verbs) -> None:
    from runner import flags

    parser = _verb(
        verbs, "plan", _plan, "Print the matrix of experiments: runnable, or skipped with the reason. Imports no torch."
    )
    flags.add_plan_flags(parser)
    parser.add_argument("--format", choices=["text", "json", "yaml"], default="text", help="how to print it")


def _plan(parsed: argparse.Namespace) -> int:
    from runner.environments import interpreters
    from runner.plan import plan_view

    request, found = _asked(parsed)
    made = interpreters.make_plan(request, found)
    if parsed.format == "json":
        sys.stdout.write(plan_view.as_json(made).decode() + "\n")
    elif parsed.format == "yaml":
        sys.stdout.write(plan_view.as_yaml(made, request, {each.name: each.machine for each in found}))
    else:
        plan_view.print_matrix(made, sys.stdout)
    return _asked_but_missing(parsed, made.missing_suites, empty=not made.entries)


def _asked(parsed: argparse.Namespace) -> tuple[PlanRequest, tuple[Interpreter, ...]]:
    """Return what the flags and the home's `xlabench.toml` ask for, and what the environments offer."""
    from runner import flags
    from runner.environments import interpreters, settings_file

    home = _home(parsed)
    file = settings_file.read(home)
    settings_file.apply(parsed, home, file)
    request = flags.plan_request(parsed)
    named = settings_file.interpreters(home, file)
    return request, interpreters.look(request, named, getattr(parsed, "threads", None))


def _asked_but_missing(parsed: argparse.Namespace, missing: dict[str, str], *, empty: bool) -> int:
    """Say which suites are not there; nothing left to do is a usage error, one asked for by name makes it partial."""
    for suite, reason in missing.items():
        _say(reason if suite in parsed.suite_name else f"left out: {reason}", EXIT_PARTIAL)
    if empty and set(missing) & set(parsed.suite_name):
        return EXIT_USAGE
    if empty:
        return _say("No experiment matches; loosen --suite-name, --filter or --exclude.", EXIT_USAGE)
    return EXIT_PARTIAL if set(missing) & set(parsed.suite_name) else EXIT_DONE


def _add_run(verbs: Verbs) -> None:
    parser = _verb(
        verbs,
        "run",
        _run,
        "Measure a plan and ingest its records. The same command again resumes: finished experiments are skipped "
        "and named. Ctrl-C loses nothing.",
    )
    _add_run_flags(parser)


def _add_run_flags(parser: _Parser) -> None:
    from runner import flags

    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    _add_database(parser)
    group = parser.add_argument_group("run")
    group.add_argument("--output-dirname", type=Path, metavar="DIR", help="folder of the run; one there is resumed")
    group.add_argument("--label", help="name of the run (default: its suites)")
    group.add_argument("--no-resume", action="store_true", help="start anew; an old run in the folder is put aside")
    group.add_argument("--retry-failed", action="store_true", help="measure groups with failures again")
    group.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    group.add_argument("--no-ingest", action="store_true", help="leave the store alone")
    group.add_argument("--strict", action="store_true", help="exit 1 where an experiment failed or gave a wrong answer")
    parser.set_defaults(parser=parser)


_CALIBRATION_PROCESSES = 6
"""Three pairs for each experiment: with those of another calibration they outweigh the default floor."""


def _add_calibrate(verbs: Verbs) -> None:
    parser = _verb(
        verbs,
        "calibrate",
        _calibrate,
        "Measure experiments against themselves, in pairs of processes, and print their noise floors. What it takes "
        "and does is as with `run`; its records are in no result.",
    )
    _add_run_flags(parser)
    parser.set_defaults(processes=_CALIBRATION_PROCESSES, label="calibration")


def _calibrate(parsed: argparse.Namespace) -> int:
    if parsed.processes % 2:
        return _say(f"--processes {parsed.processes}: a calibration measures pairs; pass an even number.", EXIT_USAGE)
    if parsed.verify_only:
        return _say("--verify-only times nothing; leave it out of a calibration.", EXIT_USAGE)
    return _measure(parsed, _calibration_settings, _print_floors)


def _calibration_settings(parsed: argparse.Namespace) -> Settings:
    import msgspec

    return msgspec.structs.replace(_settings(parsed), purpose="calibration", processes=parsed.processes, twins=0)


def _print_floors(parsed: argparse.Namespace, run_id: str) -> None:
    from store.choose import newest_snapshot
    from store.query import connect
    from store.report import floors_report, render

    with connect(newest_snapshot(_store(parsed))) as con:
        sys.stdout.write(render(floors_report(con, run_id), "text"))


def _settings(parsed: argparse.Namespace) -> Settings:
    """Return the protocol settings: the flags', else those of the plan file, else the defaults."""
    from runner import flags
    from runner.plan import plan_file

    found = flags.settings(parsed)
    if parsed.plan is not None:
        found = plan_file.with_settings(parsed.plan, found, flags.given_settings(parsed.parser, parsed.words[1:]))
    return flags.agreeing(found)


def _run(parsed: argparse.Namespace) -> int:
    return _measure(parsed, _settings)


def _measure(
    parsed: argparse.Namespace,
    settings: Callable[[argparse.Namespace], Settings],
    afterwards: Callable[[argparse.Namespace, str], None] | None = None,
) -> int:
    """Measure what the flags ask for; `afterwards` is told the run once its records are in the store."""
    from runner import flags, plan
    from runner.environments import interpreters
    from runner.plan import plan_view
    from runner.schedule import execute, run_folder

    request, found = _asked(parsed)
    made = interpreters.make_plan(request, found)
    if parsed.dry_run:
        plan_view.print_matrix(made, sys.stdout)
    code = _asked_but_missing(parsed, made.missing_suites, empty=not made.entries)
    if parsed.dry_run or code == EXIT_USAGE:
        return code
    for sentence in plan.missing_packages(made, request):
        print(sentence)
    folder = run_folder.open_folder(
        _home(parsed),
        parsed.output_dirname,
        run_folder.RunIdentity(
            plan=made,
            environments=tuple(each.description for each in found),
            settings=settings(parsed),
            label=parsed.label or plan.label(made),
            command=flags.command_line(parsed.words),
        ),
        resume=not parsed.no_resume,
        retry_failed=parsed.retry_failed,
    )
    print(f"{plan_view.summary(made)}; {'resuming' if folder.resumed else 'new run'} in {folder.path}")
    follower = _follower(parsed, folder.path)
    try:
        result = execute.execute(
            folder,
            {each.name: each.machine for each in found},
            torchbench_dir=request.context.torchbench_dir,
            retry_failed=parsed.retry_failed,
            history=_history(parsed, folder.file.run.run_id),
            on_record=follower.tell if follower else None,
        )
    finally:
        ingested = follower.finish() if follower else None
    print(result.sentence())
    if follower and ingested:
        print(f"Ingested {follower.records_n} new records; index {ingested.snapshot}")
        if afterwards is not None:
            afterwards(parsed, folder.file.run.run_id)
    return EXIT_FINDINGS if (result.failed or result.wrong) and parsed.strict else code


def _history(parsed: argparse.Namespace, run_id: str) -> History:
    """Return what the store's newest index says of earlier runs; without one, nothing has passed before."""
    from runner.schedule.history import History
    from store.errors import StorageError
    from store.query import connect, current_snapshot, fetch, named

    snapshot = current_snapshot(_store(parsed)) if parsed.retry_new_failures else None
    if snapshot is None:
        return History()
    try:
        with connect(snapshot) as con:
            rows = fetch(con, named("passed"), {"run_id": run_id})
    except StorageError:  # an earlier version's index, which this run's first record brings up
        return History()
    passed = frozenset((row["experiment_id"], row["environment"]) for row in rows)
    return History(passed, parsed.retry_new_failures)


def _follower(parsed: argparse.Namespace, folder: Path) -> Follower | None:
    if parsed.no_ingest:
        return None
    from store.follow import Follower

    return Follower(folder, _store(parsed))


def _add_ingest(verbs: Verbs) -> None:
    parser = _verb(
        verbs,
        "ingest",
        _ingest,
        "Bring run folders and JSONL files into the store. Repeating it adds nothing; an unterminated last line is "
        "left for later; lines that are no records are listed and make the exit code 3.",
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="default: the runs of the home")
    parser.add_argument("--rebuild", action="store_true", help="start from an empty index")
    _add_database(parser)


def _ingest(parsed: argparse.Namespace) -> int:
    from store.ingest import ingest

    paths = parsed.paths or [_home(parsed) / "runs"]
    report = ingest(paths, _store(parsed), rebuild=parsed.rebuild)
    print(_ingest_sentence(report))
    for line in report.rejected:
        _say(f"{line.path}, line {line.line_number} (byte {line.byte_offset}): {line.reason}", EXIT_PARTIAL)
    return report.exit_code


def _ingest_sentence(report: IngestReport) -> str:
    pending = f", {len(report.pending)} unfinished lines left for later" if report.pending else ""
    return (
        f"Ingested {report.records_n} new records ({report.known_n} known, {len(report.rejected)} rejected{pending}) "
        f"from {report.files_n} files; index {report.snapshot or 'empty'}"
    )


def _add_report(verbs: Verbs) -> None:
    parser = _verb(
        verbs,
        "report",
        _report,
        "Print speedups over a baseline, and their geometric means with n. Without --run, of the newest run. "
        "Under --rule peer, the numbers of PyTorch/XLA's aggregate.py.",
    )
    parser.add_argument(
        "kind",
        nargs="?",
        default="speedup",
        choices=["speedup", "latest", "latest_grouped", "histogram"],
        help="all but `speedup` belong to the peer rule",
    )
    parser.add_argument("--rule", choices=["paired", "peer"], help="default: paired; peer for the peer's reports")
    parser.add_argument("--format", choices=["text", "csv", "json", "markdown", "tab"], default="text")
    parser.add_argument("--run", action="append", default=[], metavar="RUN_ID", help="runs to report")
    parser.add_argument("--suite-name", action="append", default=[], metavar="SUITE")
    parser.add_argument("--test", action="append", default=[], choices=["eval", "train", "inference", "training"])
    parser.add_argument("--accelerator", metavar="NAME", help="device kind; under the peer rule a regex over its model")
    parser.add_argument(
        "--backends", nargs="+", default=[], metavar="NAME", help="the first is the baseline (inductor)"
    )
    parser.add_argument("--baseline", choices=["oldest", "latest"], help="peer rule: the baseline's point in time")
    parser.add_argument("--metric", choices=["exec", "compile"], default="exec", help="peer rule: what is compared")
    parser.add_argument("--filter", "-k", action="append", default=[], metavar="REGEX", help="models to take")
    parser.add_argument("--exclude", "-x", action="append", default=[], metavar="REGEX", help="models to leave")
    _add_database(parser)


def _report(parsed: argparse.Namespace) -> int:
    from store import report
    from store.choose import newest_snapshot
    from store.query import connect

    peer = parsed.rule == "peer" or (parsed.rule is None and parsed.kind != "speedup")
    if not peer and (parsed.kind != "speedup" or parsed.baseline or parsed.metric != "exec"):
        return _say("latest, latest_grouped, histogram, --baseline and --metric belong to --rule peer.", EXIT_USAGE)
    with connect(newest_snapshot(_store(parsed))) as con:
        made = _peer_report(parsed, con) if peer else _paired_report(parsed, con)
    sys.stdout.write(report.render(made, parsed.format))
    return EXIT_DONE


def _tests(parsed: argparse.Namespace) -> tuple[str, ...]:
    return tuple({"inference": "eval", "training": "train"}.get(test, test) for test in parsed.test)


def _paired_report(parsed: argparse.Namespace, con: Connection) -> Report:
    from store.choose import matching_models
    from store.filters import Filters
    from store.query import DEFAULT_BASELINE
    from store.report import paired_report

    filters = Filters(
        suite=tuple(parsed.suite_name),
        model=matching_models(con, parsed.filter, parsed.exclude) if parsed.filter or parsed.exclude else (),
        backend=tuple(parsed.backends),
        test=_tests(parsed),
        accelerator=(parsed.accelerator,) if parsed.accelerator else (),
        run=tuple(parsed.run),
    )
    return paired_report(con, filters, baseline_backend=parsed.backends[0] if parsed.backends else DEFAULT_BASELINE)


def _peer_report(parsed: argparse.Namespace, con: Connection) -> Report:
    from store.report import PeerOptions, peer_report

    options = PeerOptions(
        kind=parsed.kind,
        metric=parsed.metric,
        baseline=parsed.baseline or "oldest",
        test=(_tests(parsed) or ("eval",))[0],
        accelerator=parsed.accelerator,
        backends=tuple(parsed.backends) or PeerOptions().backends,
        suite=tuple(parsed.suite_name),
        include=tuple(parsed.filter),
        exclude=tuple(parsed.exclude),
    )
    return peer_report(con, options, grid=parsed.format == "tab")


def _add_compare(verbs: Verbs) -> None:
    parser = _verb(
        verbs,
        "compare",
        _compare,
        "Judge every experiment that two sides have in common: faster, slower, same, ambiguous or not comparable, with "
        "the evidence. Runs of different days are suspected at most; sides that took turns in one run are confirmed.",
    )
    parser.add_argument("old", metavar="A", help="run (id, label, latest, previous), environment or backend")
    parser.add_argument("new", metavar="B", help="the other side")
    parser.add_argument("--run", metavar="RUN_ID", help="run whose environments or backends are compared (newest)")
    parser.add_argument("--format", choices=["text", "csv", "json", "markdown"], default="text")
    parser.add_argument(
        "--fail-on", choices=["regression", "suspected"], help="exit 1 on a confirmed (or also a suspected) slower"
    )
    _add_database(parser)


def _compare(parsed: argparse.Namespace) -> int:
    from store.choose import newest_snapshot
    from store.compare import compare, comparison_report, resolve
    from store.query import connect
    from store.report import render

    with connect(newest_snapshot(_store(parsed))) as con:
        run = resolve(con, parsed.run).run_id if parsed.run else None
        found = compare(con, resolve(con, parsed.old, run), resolve(con, parsed.new, run))
    sys.stdout.write(render(comparison_report(found), parsed.format))
    slower = [cell for cell in found.of("slower") if cell.verdict.confirmed or parsed.fail_on == "suspected"]
    return EXIT_FINDINGS if slower and parsed.fail_on else EXIT_DONE


def _add_serve(verbs: Verbs) -> None:
    parser = _verb(verbs, "serve", _serve, "Serve the dashboard until Ctrl-C.")
    parser.add_argument("--address", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8501, help="TCP port")
    parser.add_argument("--allowed-host", action="append", default=[], metavar="NAME", help="host name of a proxy")
    _add_database(parser)


def _serve(parsed: argparse.Namespace) -> int:
    if importlib.util.find_spec("streamlit") is None:
        return _say("The dashboard needs Streamlit: pip install 'xlabench[dashboard]'", EXIT_USAGE)
    from dashboard.server import serve

    return serve(_store(parsed), parsed.address, parsed.port, allowed_hosts=parsed.allowed_host)


def _add_sql(verbs: Verbs) -> None:
    parser = _verb(
        verbs, "sql", _sql, "Answer one query from the newest snapshot, read-only for real: no files, no settings."
    )
    parser.add_argument("query", nargs="?", help="the query; without it, standard input is read")
    parser.add_argument("--format", choices=["text", "csv", "json"], default="text", help="how to print the rows")
    _add_database(parser)


def _sql(parsed: argparse.Namespace) -> int:
    from store.answer import answer

    sys.stdout.write(answer(_store(parsed), parsed.query or sys.stdin.read(), parsed.format))
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
