"""`xlabench report`: speedups over a baseline."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, EXIT_USAGE, add_database, say, store_of, verb

if TYPE_CHECKING:
    import argparse

    from store.query import Connection
    from store.report import Report
    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
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
    add_database(parser)


def _report(parsed: argparse.Namespace) -> int:
    from store import report
    from store.choose import newest_snapshot
    from store.query import connect

    peer = parsed.rule == "peer" or (parsed.rule is None and parsed.kind != "speedup")
    if not peer and (parsed.kind != "speedup" or parsed.baseline or parsed.metric != "exec"):
        return say("latest, latest_grouped, histogram, --baseline and --metric belong to --rule peer.", EXIT_USAGE)
    with connect(newest_snapshot(store_of(parsed))) as con:
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
