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
        verbs,
        "sql",
        _sql,
        "Run one SQL query on the newest snapshot of the store.",
        "Access is strictly read-only: a query can neither read other files nor change settings.",
    )
    parser.add_argument("query", nargs="?", help="SQL query (default: read from standard input)")
    parser.add_argument(
        "--format", choices=["text", "csv", "json"], default="text", help="output format (default: text)"
    )
    add_database(parser)


def _sql(parsed: argparse.Namespace) -> int:
    from store.answer import answer

    sys.stdout.write(answer(store_of(parsed), parsed.query or sys.stdin.read(), parsed.format))
    return EXIT_DONE
