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
        help=f"{', '.join(KINDS)} (default: speedup; latest, latest-grouped and histogram belong to the peer rule); "
        "then result files",
    )
    parser.set_defaults(files_are="what")
    parser.add_argument(
        "--rule", choices=["paired", "hud", "peer"], help="default: paired; peer for the peer's reports"
    )
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
    parser.add_argument("--dashboard", metavar="URL", help="weekly: address of `xlabench serve`, to link its pages")
    add_database(parser)


def _add_selection(parser: Parser) -> None:
    parser.add_argument("--suite-name", action="append", default=[], metavar="SUITE")
    parser.add_argument("--test", action="append", default=[], choices=["eval", "train", *_TESTS])
    parser.add_argument("--accelerator", metavar="NAME", help="device kind; under the peer rule a regex over its model")
    parser.add_argument(
        "--backends", nargs="+", default=[], metavar="NAME", help="the first is the baseline (inductor)"
    )
    parser.add_argument(
        "--baseline",
        metavar="oldest|latest|same|RUN",
        help="the baseline's point in time: same (the own run; default), the oldest or latest result, or a run; "
        "under the peer rule oldest (default) or latest",
    )
    parser.add_argument("--filter", "-k", action="append", default=[], metavar="REGEX", help="models to take")
    parser.add_argument("--exclude", "-x", action="append", default=[], metavar="REGEX", help="models to leave")


def _add_peer(parser: Parser) -> None:
    group = parser.add_argument_group("peer rule")
    group.add_argument("--metric", choices=["exec", "compile"], default="exec", help="what is compared")
    group.add_argument("--title", default="", help="second line of a picture's title")
    group.add_argument("--fig-width", type=float, default=9.0, metavar="INCHES", help="width of a picture")
    group.add_argument("--fig-height", type=float, default=6.75, metavar="INCHES", help="height of a picture")


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
        raise UsageError(f"{missing[0]} is no report ({', '.join(KINDS)}) and no file. Correct it.")
    return kind or "speedup", paths


def wrong(parsed: argparse.Namespace, files: Sequence[Path]) -> str | None:
    """Say in one sentence which flags do not go together."""
    peer, weekly = parsed.peer, parsed.kind == "weekly"
    of_peer = parsed.metric != "exec" or parsed.kind not in OWN_KINDS
    of_ops = parsed.kind in OF_OPS
    picture = parsed.format in PICTURES
    narrowed = [*parsed.suite_name, *parsed.test, *parsed.filter, *parsed.exclude] or parsed.accelerator
    rules = {
        "The weekly report has its own rule; leave --rule away.": weekly and parsed.rule,
        f"The report {parsed.kind} has its own rule and no baseline; leave --rule and --baseline away.": (
            of_ops and (parsed.rule or parsed.baseline)
        ),
        "The report fallbacks has no picture; the page Fallback ops draws it.": picture and parsed.kind == "fallbacks",
        "latest, latest-grouped, histogram and --metric belong to --rule peer.": of_peer and not peer,
        "Under the peer rule --baseline is oldest or latest.": peer and parsed.baseline not in POINTS,
        "The weekly report is of whole runs: name them with --run, and leave what narrows them away.": (
            weekly and narrowed
        ),
        "The weekly report compares with --since; leave --baseline away.": weekly and parsed.baseline,
        "The weekly report draws with --format html; png and svg are of the other reports.": picture and weekly,
        f"A picture is not for a terminal: add --output FILE.{parsed.format}.": (
            picture and parsed.output is None and sys.stdout.isatty()
        ),
        "--since and --dashboard belong to the report weekly.": (parsed.since or parsed.dashboard) and not weekly,
        "The peer rule takes every run; leave --run away, or name files.": peer and parsed.run,
        "The peer rule reports one test at a time: name --test once.": peer and len(set(tests_of(parsed))) > 1,
        "Files are reported without a home: leave --home and --database away.": (
            files and (parsed.home or parsed.database)
        ),
    }
    return next((sentence for sentence, broken in rules.items() if broken), None)


def tests_of(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return the tests asked for, by our names."""
    return tuple(_TESTS.get(test, test) for test in parsed.test)
