"""`xlabench report`: speedups over a baseline, and the weekly review; its flags, and which of them go together."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from store.errors import UsageError, did_you_mean
from xlabench import command
from xlabench.command import Parser, Verbs

if TYPE_CHECKING:
    from store.query import Connection, Filters
    from store.report import PeerOptions, Report


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "report",
        _report,
        "Print speedups over a baseline, their geometric means, or another report.",
        "Without --run, the newest run is reported. If FILEs are named, they are reported instead of the store. "
        "--rule peer computes the numbers of PyTorch/XLA's aggregate.py. `payoffs` shows how much faster models "
        "become without their fallback ops, as measured by `run --without-fallback`. `fallbacks` ranks the ops that "
        "XLA does not lower; the op to lower first is at the top. `weekly` reviews a week: what passes, what fails, "
        "what became slower or faster, and why.",
    )
    add_flags(parser)


def _report(parsed: argparse.Namespace) -> int:
    files_after_backends(parsed)
    kind, files = words_of(parsed.what)
    parsed.kind = kind.replace("-", "_")
    parsed.peer = parsed.rule == "peer" or (parsed.rule is None and parsed.kind not in OWN_KINDS)
    parsed.format = parsed.format or _format_by_name(parsed.output) or ("markdown" if kind == "weekly" else "text")
    if sentence := wrong(parsed, files):
        return command.say(sentence, command.EXIT_USAGE)
    with _opened(parsed, files) as (con, code):
        content, absent = _content(parsed, con, files)
    _write(content, parsed.output)
    for sentence in absent:
        code = command.say(sentence, command.EXIT_PARTIAL)
    return code


def _format_by_name(output: Path | None) -> str | None:
    """Return the format that the ending of an output file names; None if it names none."""
    ending = output.suffix.lower().removeprefix(".") if output else ""
    return {"md": "markdown", "txt": "text"}.get(ending, ending if ending in FORMATS else None)


@contextlib.contextmanager
def _opened(parsed: argparse.Namespace, files: Sequence[Path]) -> Iterator[tuple[Connection, int]]:
    """Open the store, or a temporary index of the files; with the exit code so far."""
    from store.ingest import ingest
    from store.query import connect

    if not files:
        with command.index_of(command.store_of(parsed)) as con:
            yield con, command.EXIT_DONE
        return
    with tempfile.TemporaryDirectory(prefix="xlabench-report-") as folder:
        ingested = ingest(files, folder)
        rejected = [
            f"{line.path}, line {line.line_number} (byte {line.byte_offset}): {line.reason}"
            for line in ingested.rejected
        ]
        if not ingested.records_n or ingested.snapshot is None:
            first = f" ({rejected[0]})" if rejected else ""
            raise UsageError(f"The files contain no record{first}. Name results.jsonl files, or folders of runs.")
        for sentence in rejected:
            command.say(sentence, command.EXIT_PARTIAL)
        with connect(ingested.snapshot) as con:
            yield con, ingested.exit_code


def _content(parsed: argparse.Namespace, con: Connection, files: Sequence[Path]) -> tuple[bytes, tuple[str, ...]]:
    """Return the report in its format, and what was asked for that it does not contain."""
    if parsed.kind == "weekly":
        return _weekly(parsed, con), ()
    if parsed.peer:
        return _peer(parsed, con, _peer_options(parsed, con, files)), ()
    report, absent = _own_report(parsed, con)
    return _drawn(parsed, _placed(parsed, report)), absent


def _placed(parsed: argparse.Namespace, report: Report) -> Report:
    """Return a report whose commands name the home and the store, if it is for the terminal."""
    return command.report_with_places(report, parsed.format, *command.places_of(parsed))


def _write(content: bytes, output: Path | None) -> None:
    if output is not None:
        output.write_bytes(content)
        return
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def _own_report(parsed: argparse.Namespace, con: Connection) -> tuple[Report, tuple[str, ...]]:
    """Return the report under the paired rule, or under the HUD's, and what was asked for that it does not contain."""
    from store.choose import absent_from, newest_run, run_named
    from store.paired import baseline_of, paired_report
    from store.query import DEFAULT_BASELINE
    from store.report import fallbacks_report, hud_report, payoffs_report

    filters = _filters(parsed, con)
    if parsed.kind == "payoffs":
        return payoffs_report(con, filters), ()
    named = parsed.baseline not in (*POINTS, "same")
    at = run_named(con, parsed.baseline) if named else parsed.baseline
    if parsed.rule == "hud":
        backend = parsed.backends[0] if parsed.backends else DEFAULT_BASELINE
        report = hud_report(con, filters, baseline_backend=backend, baseline_run=at)
        return report, absent_from(con, filters) if filters.run else ()
    chosen = msgspec.structs.replace(filters, run=filters.run or (newest_run(con, filters),))
    # The baseline, which is named first, may be another run's.
    here = msgspec.structs.replace(chosen, backend=filters.backend[1 if at not in (None, "same") else 0 :])
    absent = absent_from(con, here)
    if parsed.kind == "fallbacks":
        return fallbacks_report(con, chosen), absent
    backend = parsed.backends[0] if parsed.backends else baseline_of(con, chosen.run[0]) or DEFAULT_BASELINE
    report = paired_report(con, chosen, baseline_backend=backend, baseline_run=at)
    if named and report.picture is not None and not report.picture.marks:
        absent = (*absent, f"No result of the report has a speedup over run {at}.")
    return report, absent


def _filters(parsed: argparse.Namespace, con: Connection) -> Filters:
    """Return what the flags select of the store, after checking their names."""
    from store.choose import matching_models, measured_names, on_accelerator, run_named
    from store.query import Filters

    filters = Filters(
        suite=measured_names(con, "suite", parsed.suite_name),
        model=matching_models(con, parsed.filter, parsed.exclude) if parsed.filter or parsed.exclude else (),
        backend=measured_names(con, "backend", parsed.backends),
        test=tests_of(parsed),
        run=tuple(run_named(con, text) for text in parsed.run),
    )
    return on_accelerator(con, filters, parsed.accelerator) if parsed.accelerator else filters


def _drawn(parsed: argparse.Namespace, report: Report) -> bytes:
    """Return one of our own reports in its format."""
    if parsed.format not in PICTURES or report.picture is None:
        from store.report import render

        return render(report, parsed.format).encode()
    from store.report.pictures import SIZE, plot_ratios

    title = f"{report.title}\n{parsed.title}" if parsed.title else report.title
    return plot_ratios(report.picture, title, parsed.format, parsed.fig_width or SIZE.width, parsed.fig_height or 0.0)


def _peer_options(parsed: argparse.Namespace, con: Connection, files: Sequence[Path]) -> PeerOptions:
    from store.choose import matching_models, measured_names
    from store.report import PeerOptions

    if parsed.filter or parsed.exclude:
        matching_models(con, parsed.filter, parsed.exclude)  # an expression that no model matches is refused
    return PeerOptions(
        kind=parsed.kind,
        metric=parsed.metric,
        baseline=parsed.baseline or "oldest",
        test=(tests_of(parsed) or ("eval",))[0],
        accelerator=parsed.accelerator,
        backends=measured_names(con, "backend", parsed.backends) or PeerOptions().backends,
        suite=measured_names(con, "suite", parsed.suite_name),
        include=tuple(parsed.filter),
        exclude=tuple(parsed.exclude),
        files=tuple(str(path.resolve()) for path in files),
    )


def _peer(parsed: argparse.Namespace, con: Connection, options: PeerOptions) -> bytes:
    from store.report import peer_report, render
    from store.report.peer import titles
    from store.report.pictures import SIZE, PictureSize, plot

    report = peer_report(con, options, grid=parsed.format == "tab")
    if not any(table.rows for table in report.tables):
        raise UsageError(" ".join(report.notes))
    if parsed.format not in PICTURES:
        return render(_placed(parsed, report), parsed.format).encode()
    size = PictureSize(parsed.fig_width or SIZE.width, parsed.fig_height or SIZE.height)
    return plot(report, options, titles(options), parsed.format, size, parsed.title)


def _weekly(parsed: argparse.Namespace, con: Connection) -> bytes:
    from store.choose import measured_names
    from store.query import DEFAULT_BASELINE
    from store.state import reviews
    from store.weekly import weekly_report

    (baseline,) = measured_names(con, "backend", parsed.backends) or (DEFAULT_BASELINE,)
    all_reviews = reviews.listed(command.state_of(parsed))
    weekly = weekly_report(con, parsed.run, parsed.since, baseline, parsed.dashboard, all_reviews)
    placed = msgspec.structs.replace(weekly, report=_placed(parsed, weekly.report))
    return placed.render(parsed.format).encode()


KINDS = ("speedup", "latest", "latest-grouped", "histogram", "payoffs", "fallbacks", "weekly")
OF_OPS = ("payoffs", "fallbacks")
"""Reports that rank fallback ops; they have a rule of their own."""
OWN_KINDS = ("speedup", *OF_OPS, "weekly")
"""Reports that do not use the peer's rule by default."""
PICTURES = ("png", "svg")
FORMATS = ("text", "csv", "json", "markdown", "tab", "html", *PICTURES)
POINTS = (None, "oldest", "latest")
_LARGEST_IN = 100
_TESTS = {"inference": "eval", "training": "train"}
_SUFFIXES = (".jsonl", ".json", ".gz", ".zst", ".csv", ".parquet")


def add_flags(parser: Parser) -> None:
    """Add the arguments of the report."""
    parser.add_argument(
        "what",
        nargs="*",
        type=command.filled,
        metavar="KIND|FILE",
        help=f"one of {', '.join(KINDS)} (default: speedup; latest, latest-grouped and histogram use --rule peer); "
        "result files may follow",
    )
    parser.set_defaults(files_are="what")
    parser.add_argument(
        "--rule",
        choices=["paired", "hud", "peer"],
        help="how speedups are computed: over the models that are valid on both sides (paired), as the PyTorch HUD "
        "does (hud), or as PyTorch/XLA's aggregate.py does (peer) (default: paired; peer for latest, latest-grouped "
        "and histogram)",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="output format (default: the ending of --output names it; else text, or markdown for weekly)",
    )
    parser.add_argument(
        "--output", "-o", type=command.path, metavar="FILE", help="output file (default: standard output)"
    )
    command.add_many(
        parser,
        "--run",
        metavar="RUN",
        help="report this run: its id, or a label, whose newest run is taken; may be repeated",
    )
    _add_selection(parser)
    _add_peer(parser)
    parser.add_argument(
        "--since",
        metavar="DATE|RUN",
        help="weekly: compare with RUN, or with the newest run at or before DATE in UTC (default: a week before)",
    )
    parser.add_argument(
        "--dashboard", metavar="URL", help="weekly: address of `xlabench serve`, for links to its pages"
    )
    command.add_database(parser)


def _add_selection(parser: Parser) -> None:
    command.add_many(parser, "--suite-name", metavar="SUITE", help="include this suite; may be repeated")
    command.add_many(parser, "--test", choices=["eval", "train", *_TESTS], help="include this test; may be repeated")
    parser.add_argument(
        "--accelerator", type=command.filled, metavar="NAME", help="kind of device, or a regex over the device model"
    )
    parser.add_argument(
        "--backends",
        nargs="+",
        default=[],
        metavar="NAME",
        help="backends to include; the first is the baseline (default: all; inductor, or eager without it)",
    )
    parser.add_argument(
        "--baseline",
        metavar="oldest|latest|same|RUN",
        help="where the baseline is taken from: the same run (default), the oldest or latest result, or a run; "
        "with --rule peer, oldest (default) or latest",
    )
    command.add_many(
        parser, "--filter", "-k", metavar="REGEX", help="include models whose name matches; may be repeated"
    )
    command.add_many(
        parser, "--exclude", "-x", metavar="REGEX", help="exclude models whose name matches; may be repeated"
    )


def _inches(text: str) -> float:
    """Read the size of a chart; a larger one takes minutes to draw."""
    from runner import flag

    value = flag.above_zero(text)
    if not 1 <= value <= _LARGEST_IN:
        raise argparse.ArgumentTypeError(f"{text} is not a number of inches from 1 to {_LARGEST_IN}")
    return value


def _add_peer(parser: Parser) -> None:
    group = parser.add_argument_group("peer rule")
    group.add_argument(
        "--metric", choices=["exec", "compile"], default="exec", help="time to compare: execution or compilation"
    )
    group.add_argument("--title", default="", help="second line of the chart's title")
    group.add_argument("--fig-width", type=_inches, metavar="INCHES", help="width of the chart (default: 9)")
    group.add_argument(
        "--fig-height",
        type=_inches,
        metavar="INCHES",
        help="height of the chart (default: 6.75; without --rule peer, the height that its rows need, which is also "
        "the minimum)",
    )


def files_after_backends(parsed: argparse.Namespace) -> None:
    """Give back the files that `--backends A B FILE` has taken for names of backends."""
    names = parsed.backends
    count = next((i for i, name in enumerate(names) if name.endswith(_SUFFIXES)), len(names))
    parsed.what, parsed.backends = [*parsed.what, *names[count:]], names[:count]


def words_of(words: Sequence[str]) -> tuple[str, tuple[Path, ...]]:
    """Return the requested kind of report, and the files.

    Raises:
        UsageError: a word is neither.
    """
    kinds = {kind.replace("-", mark): kind for kind in KINDS for mark in "-_"}
    kind = kinds.get(words[0]) if words else None
    paths = tuple(map(Path, words[1:] if kind else words))
    if missing := [path for path in paths if not path.exists()]:
        hint = did_you_mean(str(missing[0]), KINDS)
        raise UsageError(f"{missing[0]} is neither a report ({', '.join(KINDS)}) nor a file.{hint}")
    return kind or "speedup", paths


def wrong(parsed: argparse.Namespace, files: Sequence[Path]) -> str | None:
    """Return one sentence about flags that exclude each other; None if there are none."""
    peer, weekly = parsed.peer, parsed.kind == "weekly"
    of_peer = parsed.metric != "exec" or parsed.kind not in OWN_KINDS
    of_ops = parsed.kind in OF_OPS
    picture = parsed.format in PICTURES
    narrowed = [*parsed.suite_name, *parsed.test, *parsed.filter, *parsed.exclude] or parsed.accelerator
    rules = {
        "The weekly report has its own rule; remove --rule.": weekly and parsed.rule,
        f"The report {parsed.kind} has its own rule and no baseline; remove --rule and --baseline.": (
            of_ops and (parsed.rule or parsed.baseline)
        ),
        "The report fallbacks has no chart; the page Fallback ops shows one.": picture and parsed.kind == "fallbacks",
        "latest, latest-grouped, histogram and --metric require --rule peer.": of_peer and not peer,
        "With --rule peer, --baseline must be oldest or latest.": peer and parsed.baseline not in POINTS,
        "The weekly report covers whole runs: select them with --run, and remove the other filters.": (
            weekly and narrowed
        ),
        "The weekly report compares with --since; remove --baseline.": weekly and parsed.baseline,
        "The weekly report has one baseline; pass one backend to --backends.": weekly and len(parsed.backends) > 1,
        "The weekly report contains charts with --format html; png and svg are for the other reports.": picture
        and weekly,
        "--title, --fig-width and --fig-height are for charts; add --format png or svg.": not picture
        and (parsed.title or parsed.fig_width or parsed.fig_height),
        f"A chart cannot be printed to a terminal; add --output FILE.{parsed.format}.": (
            picture and parsed.output is None and sys.stdout.isatty()
        ),
        f"--output {parsed.output} is a folder; name a file.": parsed.output is not None and parsed.output.is_dir(),
        "--since and --dashboard require the report weekly.": (parsed.since or parsed.dashboard) and not weekly,
        "--rule peer covers all runs; remove --run, or name files.": peer and parsed.run,
        "--rule peer reports one test at a time; pass --test once.": peer and len(set(tests_of(parsed))) > 1,
        "Reports of files do not use a home; remove --home and --database.": (
            files and (parsed.home or parsed.database)
        ),
    }
    return next((sentence for sentence, broken in rules.items() if broken), None)


def tests_of(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return the requested tests by our names."""
    return tuple(_TESTS.get(test, test) for test in parsed.test)
