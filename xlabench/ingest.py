"""`xlabench ingest`: add run folders and result files to the store."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from store.errors import RemoteFailed, UsageError, counted
from xlabench import command
from xlabench.command import Verbs

if TYPE_CHECKING:
    from store.ingest import IngestReport
    from store.ingest.relation import Rejected

LISTED_N = 20
"""Maximum number of rejected lines that are printed."""


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "ingest",
        lambda parsed: command.run_until_signal(lambda: _ingest(parsed)),
        "Add run folders and result files to the store.",
        "Sources are JSONL files (also rotated or compressed as .gz or .zst), files of other tools, folders, glob "
        "patterns, and URLs of object stores. Ingesting a file again adds nothing. A last line without a newline is "
        "left for the next time. It and lines that are not records are listed, and the exit code is 3.",
    )
    parser.set_defaults(files_are="paths")
    parser.add_argument(
        "paths",
        nargs="*",
        type=command.filled,
        metavar="PATH",
        help="sources (default: the runs of the home); new files of a URL such as s3://bucket/runs are first copied to "
        "the home",
    )
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="rebuild the index from all known files; readers keep the old one until it is ready",
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep ingesting what is appended to the files, until Ctrl-C"
    )
    command.add_many(
        parser,
        "--fact",
        type=_fact,
        metavar="NAME=VALUE",
        help="value that another tool's file lacks (suite, dtype, test, backend, accelerator, accelerator_model, "
        "label, time, origin, baseline); stored in a file next to it",
    )
    command.add_database(parser)


def _local_paths(paths: Sequence[Path | str], home: Path) -> list[Path]:
    """Return the sources on this host: what is new at a URL is brought into the home.

    Raises:
        XlabenchError: a URL cannot be used or reached.
    """
    from store.remote import arrived

    return [path if isinstance(path, Path) else arrived(path, home / "arrived") for path in paths]


def _fact(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _ingest(parsed: argparse.Namespace) -> int:
    from store.ingest import ingest
    from store.ingest.discover import refuse_empty
    from store.remote import is_url

    sources = [text if is_url(text) else Path(text) for text in parsed.paths] or _own_runs(parsed)
    paths = _local_paths(sources, command.home_of(parsed))
    if parsed.paths and not parsed.watch:
        refuse_empty(paths)
    _write_facts(parsed, paths)
    report = ingest(paths, command.store_of(parsed), rebuild=parsed.rebuild)
    _print_report(report)
    _update_changepoints(report, parsed)
    return _watch(sources, parsed) if parsed.watch else report.exit_code


def _own_runs(parsed: argparse.Namespace) -> list[Path]:
    """Return the home's runs; nothing where there is only an index of files from elsewhere."""
    from store.database.snapshot import POINTER

    runs = command.home_of(parsed) / "runs"
    return [] if not runs.exists() and (command.store_of(parsed) / POINTER).exists() else [runs]


def _update_changepoints(report: IngestReport, parsed: argparse.Namespace) -> None:
    from store import changepoints

    if report.published:
        changepoints.update(command.store_of(parsed), command.state_of(parsed))


def _watch(sources: Sequence[Path | str], parsed: argparse.Namespace) -> NoReturn:
    """Keep ingesting; after an interruption, the next ingest finds the rest in the files."""
    from store.ingest.run import Follower

    follower = Follower(_local_paths(sources, command.home_of(parsed)), command.store_of(parsed))
    while True:
        report = follower.finish()
        if report.changed_files_n or report.rejected:
            _print_report(msgspec.structs.replace(report, pending=[]))  # the next ingest reads on
            _update_changepoints(report, parsed)
        follower.wait()
        _bring_new(sources, command.home_of(parsed))


def _bring_new(sources: Sequence[Path | str], home: Path) -> None:
    """Copy what is new at the URLs; one that cannot be reached is reported and tried again later."""
    try:
        _local_paths(sources, home)
    except RemoteFailed as error:
        command.say(str(error), error.exit_code)


def _print_report(report: IngestReport) -> None:
    print(_ingest_sentence(report), flush=True)
    _print_rejected(report.rejected)
    for end in report.pending[:LISTED_N]:
        command.say(
            f"{end.path}, line {end.line_number} (byte {end.byte_offset}): the line does not end in a newline, so it "
            "is not read yet. If the file holds records as JSONL and no program is writing it, append a newline, and "
            "ingest it again.",
            command.EXIT_PARTIAL,
        )
    if report.passed_over:
        names = ", ".join(report.passed_over[:LISTED_N])
        rest = f" and {len(report.passed_over) - LISTED_N} more" if len(report.passed_over) > LISTED_N else ""
        print(f"Skipped files of unknown format: {names}{rest}.", flush=True)


def _print_rejected(rejected: Sequence[Rejected]) -> None:
    """Print the first rejected lines, and before them the places from which a file was not read on."""
    from store.ingest.relation import GIVEN_UP

    first = sorted(rejected, key=lambda line: line.reason != GIVEN_UP)[:LISTED_N]
    for line in first:
        command.say(
            f"{line.path}, line {line.line_number} (byte {line.byte_offset}): {line.reason}", command.EXIT_PARTIAL
        )
    if len(rejected) > LISTED_N:
        more = counted(len(rejected) - LISTED_N, "more rejected line")
        command.say(f"Table rejected_lines lists {more}.", command.EXIT_PARTIAL)


def _write_facts(parsed: argparse.Namespace, paths: Sequence[Path]) -> None:
    """Write the facts next to each named file.

    Raises:
        UsageError: a fact is none, or no file of another tool is named.
    """
    from store.importers import facts

    files = [path for path in paths if path.is_file()]
    if parsed.fact and (not files or len(files) != len(paths)):
        raise UsageError("--fact describes files. Name these files instead of a folder.")
    for path in files if parsed.fact else ():
        facts.write(path, dict(parsed.fact))


def _ingest_sentence(report: IngestReport) -> str:
    pending = f", {counted(len(report.pending), 'unfinished line')} left for later" if report.pending else ""
    index = f" into index {report.snapshot}" if report.snapshot else "; the index is empty"
    return (
        f"Ingested {counted(report.records_n, 'new record')} ({report.known_n} known, {len(report.rejected)} "
        f"rejected{pending}) from {counted(report.files_n, 'file')}{index}."
    )
