"""`xlabench compare`: judge what two sides have in common, and measure again what is suspected."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, EXIT_FINDINGS, EXIT_USAGE, add_database, say, store_of, verb
from xlabench.confirm import OF_CONFIRM, add_confirm_flags, chosen, confirm, files_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from store.compare import Cell, Comparison
    from xlabench.command import Verbs
    from xlabench.confirm import Files


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "compare",
        _compare,
        "Compare two runs, environments or backends: a verdict and its evidence for each shared experiment.",
        "Verdicts are faster, slower, same, ambiguous and not comparable. A difference between separate runs is at "
        "most suspected; a difference between sides that were interleaved in one run is confirmed.",
    )
    parser.add_argument("old", metavar="A", help="a run (id, label, latest or previous), an environment or a backend")
    parser.add_argument("new", metavar="B", help="the side to compare with A")
    parser.add_argument(
        "--run", metavar="RUN_ID", help="run that contains the environments or backends A and B (default: the newest)"
    )
    parser.add_argument(
        "--format", choices=["text", "csv", "json", "markdown"], default="text", help="output format (default: text)"
    )
    parser.add_argument(
        "--fail-on",
        choices=["regression", "suspected"],
        help="exit with 1 if an experiment is slower: confirmed only (regression), or also suspected",
    )
    add_database(parser)
    add_confirm_flags(parser)


def _compare(parsed: argparse.Namespace) -> int:
    from store.choose import newest_snapshot
    from store.compare import compare, comparison_report, resolve, to_confirm
    from store.query import connect
    from store.report import render

    if parsed.confirm is None and any(getattr(parsed, name) for name in OF_CONFIRM):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in OF_CONFIRM)
        return say(f"{flags} require --confirm, which measures again.", EXIT_USAGE)
    files = None
    with connect(newest_snapshot(store_of(parsed))) as con:
        run = resolve(con, parsed.run).run_id if parsed.run else None
        found = compare(con, resolve(con, parsed.old, run), resolve(con, parsed.new, run))
        cells = chosen(to_confirm(found, parsed.confirm), parsed.experiment) if parsed.confirm else ()
        if cells:
            files = files_of(con, found)
    if parsed.confirm:
        return _confirm(parsed, found, files, cells)
    sys.stdout.write(render(comparison_report(found), parsed.format))
    slower = [cell for cell in found.of("slower") if cell.verdict.confirmed or parsed.fail_on == "suspected"]
    return EXIT_FINDINGS if slower and parsed.fail_on else EXIT_DONE


def _confirm(parsed: argparse.Namespace, found: Comparison, files: Files | None, cells: Sequence[Cell]) -> int:
    """Print what became of the suspicions; what was confirmed before counts as well."""
    from store.compare import confirmation_report
    from store.report import render

    results, again = confirm(parsed, found, files, cells) if files else ([], None)
    sys.stdout.write(render(confirmation_report(found, results, again), parsed.format))
    verdicts = [each.again.verdict for each in results if each.again and each.word == "slower"]
    slower = [verdict for verdict in verdicts if verdict.confirmed or parsed.fail_on == "suspected"]
    slower += [cell.verdict for cell in found.of("slower") if cell.verdict.confirmed]
    return EXIT_FINDINGS if slower and parsed.fail_on else EXIT_DONE
