"""The flags of `xlabench report`, and which of them go together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xlabench.command import add_database

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xlabench.command import Parser

KINDS = ("speedup", "latest", "latest-grouped", "histogram", "payoffs", "fallbacks", "weekly")
OF_OPS = ("payoffs", "fallbacks")
"""Reports that rank fallback ops: they have a rule of their own."""
OWN_KINDS = ("speedup", *OF_OPS, "weekly")
"""Those of no rule of the peer's."""
PICTURES = ("png", "svg")
POINTS = (None, "oldest", "latest")
_TESTS = {"inference": "eval", "training": "train"}
_SUFFIXES = (".jsonl", ".json", ".gz", ".zst", ".csv", ".parquet")


def add_flags(parser: Parser) -> None:
    """Add what the report can be asked for."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="KIND|FILE",
        help=f"one of {', '.join(KINDS)} (default: speedup; latest, latest-grouped and histogram require --rule peer); "
        "result files may follow",
    )
    parser.set_defaults(files_are="what")
    parser.add_argument(
        "--rule",
        choices=["paired", "hud", "peer"],
        help="how speedups are computed (default: paired; peer for latest, latest-grouped and histogram)",
    )
    forms = ["text", "csv", "json", "markdown", "tab", "html", *PICTURES]
    parser.add_argument("--format", choices=forms, help="output format (default: text; markdown for weekly)")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="output file (default: standard output)")
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="RUN",
        help="report the run with this id, or for weekly this label; may be repeated",
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
    add_database(parser)


def _add_selection(parser: Parser) -> None:
    parser.add_argument(
        "--suite-name", action="append", default=[], metavar="SUITE", help="suites to include; may be repeated"
    )
    parser.add_argument(
        "--test",
        action="append",
        default=[],
        choices=["eval", "train", *_TESTS],
        help="tests to include; may be repeated",
    )
    parser.add_argument(
        "--accelerator", metavar="NAME", help="device kind; with --rule peer, a regex over the device model"
    )
    parser.add_argument(
        "--backends",
        nargs="+",
        default=[],
        metavar="NAME",
        help="backends to include; the first is the baseline (default: inductor)",
    )
    parser.add_argument(
        "--baseline",
        metavar="oldest|latest|same|RUN",
        help="where the baseline is taken from: the same run (default), the oldest or latest result, or a run; "
        "with --rule peer, oldest (default) or latest",
    )
    parser.add_argument(
        "--filter",
        "-k",
        action="append",
        default=[],
        metavar="REGEX",
        help="include models whose name matches; may be repeated",
    )
    parser.add_argument(
        "--exclude",
        "-x",
        action="append",
        default=[],
        metavar="REGEX",
        help="exclude models whose name matches; may be repeated",
    )


def _add_peer(parser: Parser) -> None:
    group = parser.add_argument_group("peer rule")
    group.add_argument(
        "--metric", choices=["exec", "compile"], default="exec", help="time to compare: execution or compilation"
    )
    group.add_argument("--title", default="", help="second line of the chart's title")
    group.add_argument("--fig-width", type=float, default=9.0, metavar="INCHES", help="width of the chart")
    group.add_argument("--fig-height", type=float, default=6.75, metavar="INCHES", help="height of the chart")


def files_after_backends(parsed: argparse.Namespace) -> None:
    """Give back the files that `--backends A B FILE` has taken for names of backends."""
    names = parsed.backends
    count = next((i for i, name in enumerate(names) if name.endswith(_SUFFIXES)), len(names))
    parsed.what, parsed.backends = [*parsed.what, *names[count:]], names[:count]


def words_of(words: Sequence[str]) -> tuple[str, tuple[Path, ...]]:
    """Return the report asked for, and the files.

    Raises:
        UsageError: a word is neither.
    """
    from store.errors import UsageError

    known = {kind.replace("-", mark): kind for kind in KINDS for mark in "-_"}
    kind = known.get(words[0]) if words else None
    paths = tuple(map(Path, words[1:] if kind else words))
    if missing := [path for path in paths if not path.exists()]:
        raise UsageError(f"{missing[0]} is neither a report ({', '.join(KINDS)}) nor a file.")
    return kind or "speedup", paths


def wrong(parsed: argparse.Namespace, files: Sequence[Path]) -> str | None:
    """Say in one sentence which flags do not go together."""
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
        "The weekly report contains charts with --format html; png and svg are for the other reports.": picture
        and weekly,
        f"A chart cannot be printed to a terminal; add --output FILE.{parsed.format}.": (
            picture and parsed.output is None and sys.stdout.isatty()
        ),
        "--since and --dashboard require the report weekly.": (parsed.since or parsed.dashboard) and not weekly,
        "--rule peer covers all runs; remove --run, or name files.": peer and parsed.run,
        "--rule peer reports one test at a time; pass --test once.": peer and len(set(tests_of(parsed))) > 1,
        "Reports of files do not use a home; remove --home and --database.": (
            files and (parsed.home or parsed.database)
        ),
    }
    return next((sentence for sentence, broken in rules.items() if broken), None)


def tests_of(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return the tests asked for, by our names."""
    return tuple(_TESTS.get(test, test) for test in parsed.test)
