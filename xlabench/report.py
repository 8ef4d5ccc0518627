"""`xlabench report`: speedups over a baseline, and the weekly review."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, EXIT_PARTIAL, EXIT_USAGE, add_database, say, store_of, verb

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from store.query import Connection
    from store.report import PeerOptions, Report
    from xlabench.command import Parser, Verbs

KINDS = ("speedup", "latest", "latest-grouped", "histogram", "weekly")
PICTURES = ("png", "svg")
_TESTS = {"inference": "eval", "training": "train"}
_SUFFIXES = (".jsonl", ".json", ".gz", ".zst", ".csv", ".parquet")


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "report",
        _report,
        "Print speedups over a baseline, and their geometric means with n. Without --run, of the newest run; of FILEs, "
        "if some are named, instead of the store. Under --rule peer, the numbers of PyTorch/XLA's aggregate.py. "
        "`weekly` is the review of a week: what passes, fails, got slower or faster since, and why.",
    )
    parser.add_argument(
        "what",
        nargs="*",
        metavar="KIND|FILE",
        help=f"{', '.join(KINDS)} (default: speedup; the next three belong to the peer rule); then result files",
    )
    parser.add_argument("--rule", choices=["paired", "peer"], help="default: paired; peer for the peer's reports")
    forms = ["text", "csv", "json", "markdown", "tab", "html", *PICTURES]
    parser.add_argument("--format", choices=forms, help="default: text; markdown for weekly")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="where to write (standard output)")
    parser.add_argument(
        "--run", action="append", default=[], metavar="RUN", help="runs to report: ids; of weekly also labels"
    )
    _add_selection(parser)
    _add_peer(parser)
    parser.add_argument(
        "--since",
        metavar="DATE|RUN",
        help="weekly: what to compare with: the newest run at or before DATE (UTC), or RUN (default: a week before)",
    )
    add_database(parser)


def _add_selection(parser: Parser) -> None:
    parser.add_argument("--suite-name", action="append", default=[], metavar="SUITE")
    parser.add_argument("--test", action="append", default=[], choices=["eval", "train", *_TESTS])
    parser.add_argument("--accelerator", metavar="NAME", help="device kind; under the peer rule a regex over its model")
    parser.add_argument(
        "--backends", nargs="+", default=[], metavar="NAME", help="the first is the baseline (inductor)"
    )
    parser.add_argument("--filter", "-k", action="append", default=[], metavar="REGEX", help="models to take")
    parser.add_argument("--exclude", "-x", action="append", default=[], metavar="REGEX", help="models to leave")


def _add_peer(parser: Parser) -> None:
    group = parser.add_argument_group("peer rule")
    group.add_argument("--baseline", choices=["oldest", "latest"], help="the baseline's point in time (oldest)")
    group.add_argument("--metric", choices=["exec", "compile"], default="exec", help="what is compared")
    group.add_argument("--title", default="", help="second line of a picture's title")
    group.add_argument("--fig-width", type=float, default=9.0, metavar="INCHES", help="width of a picture")
    group.add_argument("--fig-height", type=float, default=6.75, metavar="INCHES", help="height of a picture")


def _report(parsed: argparse.Namespace) -> int:
    kind, files = _words(parsed.what)
    parsed.kind = kind.replace("-", "_")
    parsed.peer = parsed.rule == "peer" or (parsed.rule is None and parsed.kind not in ("speedup", "weekly"))
    parsed.format = parsed.format or ("markdown" if kind == "weekly" else "text")
    if wrong := _wrong(parsed, files):
        return say(wrong, EXIT_USAGE)
    with _opened(parsed, files) as (con, code):
        made = _made(parsed, con, files)
    _write(made, parsed.output)
    return code


def _words(words: Sequence[str]) -> tuple[str, tuple[Path, ...]]:
    """Return the report asked for, and the files.

    Raises:
        UsageError: a word is neither.
    """
    from store.errors import UsageError

    known = {kind.replace("-", mark): kind for kind in KINDS for mark in "-_"}
    kind = known.get(words[0]) if words else None
    paths = tuple(map(Path, words[1:] if kind else words))
    if missing := [path for path in paths if not path.exists()]:
        raise UsageError(f"{missing[0]} is no report ({', '.join(KINDS)}) and no file. Correct it.")
    return kind or "speedup", paths


def _wrong(parsed: argparse.Namespace, files: Sequence[Path]) -> str | None:
    """Say in one sentence which flags do not go together."""
    peer, weekly = parsed.peer, parsed.kind == "weekly"
    of_peer = parsed.baseline or parsed.metric != "exec" or parsed.kind not in ("speedup", "weekly")
    picture = parsed.format in PICTURES
    swallowed = [name for name in parsed.backends if name.endswith(_SUFFIXES)]
    rules = {
        "The weekly report has its own rule; leave --rule away.": weekly and parsed.rule,
        "latest, latest-grouped, histogram, --baseline and --metric belong to --rule peer.": of_peer and not peer,
        "png and svg are pictures of the peer's reports: add --rule peer; weekly draws with --format html.": (
            picture and not peer
        ),
        f"A picture is not for a terminal: add --output FILE.{parsed.format}.": (
            picture and parsed.output is None and sys.stdout.isatty()
        ),
        "--since belongs to the report weekly.": parsed.since and not weekly,
        "The peer rule takes every run; leave --run away, or name files.": peer and parsed.run,
        "The peer rule reports one test at a time: name --test once.": peer and len(set(_tests(parsed))) > 1,
        f"{' '.join(swallowed)} stands among the --backends: name files before that flag, or after another one.": (
            swallowed
        ),
        "Files are reported without a home: leave --home and --database away.": (
            files and (parsed.home or parsed.database)
        ),
    }
    return next((sentence for sentence, broken in rules.items() if broken), None)


@contextlib.contextmanager
def _opened(parsed: argparse.Namespace, files: Sequence[Path]) -> Iterator[tuple[Connection, int]]:
    """Open the store, or a temporary index of the files; with the exit code so far."""
    from store.choose import newest_snapshot
    from store.errors import UsageError
    from store.ingest import ingest
    from store.query import connect

    if not files:
        with connect(newest_snapshot(store_of(parsed))) as con:
            yield con, EXIT_DONE
        return
    with tempfile.TemporaryDirectory(prefix="xlabench-report-") as folder:
        found = ingest(files, folder)
        for line in found.rejected:
            say(f"{line.path}, line {line.line_number} (byte {line.byte_offset}): {line.reason}", EXIT_PARTIAL)
        if not found.records_n or found.snapshot is None:
            raise UsageError("The files hold no record. Name results.jsonl files, or folders of runs.")
        with connect(found.snapshot) as con:
            yield con, found.exit_code


def _made(parsed: argparse.Namespace, con: Connection, files: Sequence[Path]) -> bytes:
    """Return the report in its format."""
    from store.report import render

    if parsed.kind == "weekly":
        return _weekly(parsed, con)
    if not parsed.peer:
        return render(_paired_report(parsed, con), parsed.format).encode()
    return _peer(parsed, con, _peer_options(parsed, files))


def _write(made: bytes, output: Path | None) -> None:
    if output is not None:
        output.write_bytes(made)
        return
    sys.stdout.buffer.write(made)
    sys.stdout.flush()


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


def _tests(parsed: argparse.Namespace) -> tuple[str, ...]:
    return tuple(_TESTS.get(test, test) for test in parsed.test)


def _peer_options(parsed: argparse.Namespace, files: Sequence[Path]) -> PeerOptions:
    from store.report import PeerOptions

    return PeerOptions(
        kind=parsed.kind,
        metric=parsed.metric,
        baseline=parsed.baseline or "oldest",
        test=(_tests(parsed) or ("eval",))[0],
        accelerator=parsed.accelerator,
        backends=tuple(parsed.backends) or PeerOptions().backends,
        suite=tuple(parsed.suite_name),
        include=tuple(parsed.filter),
        exclude=tuple(parsed.exclude),
        files=tuple(str(path.resolve()) for path in files),
    )


def _peer(parsed: argparse.Namespace, con: Connection, options: PeerOptions) -> bytes:
    from store.report import peer_report, render
    from store.report.peer import titles
    from store.report.peer_plot import Size, plot

    made = peer_report(con, options, grid=parsed.format == "tab")
    if parsed.format not in PICTURES:
        return render(made, parsed.format).encode()
    size = Size(parsed.fig_width, parsed.fig_height)
    return plot(made, options, titles(options), parsed.format, size, parsed.title)


def _weekly(parsed: argparse.Namespace, con: Connection) -> bytes:
    from store.query import DEFAULT_BASELINE
    from store.weekly import weekly_report

    baseline = parsed.backends[0] if parsed.backends else DEFAULT_BASELINE
    return weekly_report(con, parsed.run, parsed.since, baseline).render(parsed.format).encode()
