"""The records of runs as lines, in the order of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.query import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from store.query import Connection

_ROWS = 2000
"""Held in memory at a time."""


def rows(con: Connection, query: str, runs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give the rows of a named query with the parameter `runs`, a few at a time."""
    cursor = con.cursor()
    try:
        cursor.execute(named(query), {"runs": list(runs)})
        names = [column[0] for column in cursor.description or ()]
        while batch := cursor.fetchmany(_ROWS):
            for row in batch:
                yield dict(zip(names, row, strict=True))
    finally:
        cursor.close()
