"""`xlabench sql`: one query, read-only."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, add_database, store_of, verb

if TYPE_CHECKING:
    import argparse

    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs, "sql", _sql, "Answer one query from the newest snapshot, read-only for real: no files, no settings."
    )
    parser.add_argument("query", nargs="?", help="the query; without it, standard input is read")
    parser.add_argument("--format", choices=["text", "csv", "json"], default="text", help="how to print the rows")
    add_database(parser)


def _sql(parsed: argparse.Namespace) -> int:
    from store.answer import answer

    sys.stdout.write(answer(store_of(parsed), parsed.query or sys.stdin.read(), parsed.format))
    return EXIT_DONE
