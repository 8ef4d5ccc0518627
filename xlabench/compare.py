"""`xlabench compare`: judge what two sides have in common."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, EXIT_FINDINGS, add_database, store_of, verb

if TYPE_CHECKING:
    import argparse

    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
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
    add_database(parser)


def _compare(parsed: argparse.Namespace) -> int:
    from store.choose import newest_snapshot
    from store.compare import compare, comparison_report, resolve
    from store.query import connect
    from store.report import render

    with connect(newest_snapshot(store_of(parsed))) as con:
        run = resolve(con, parsed.run).run_id if parsed.run else None
        found = compare(con, resolve(con, parsed.old, run), resolve(con, parsed.new, run))
    sys.stdout.write(render(comparison_report(found), parsed.format))
    slower = [cell for cell in found.of("slower") if cell.verdict.confirmed or parsed.fail_on == "suspected"]
    return EXIT_FINDINGS if slower and parsed.fail_on else EXIT_DONE
