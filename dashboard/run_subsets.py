"""Rows of a few runs, read once into tables of a connection of their own: the same SQL gives the same rows from them.

A change of a filter asks for means over other models of the same runs. Most of the time that takes goes into the plan
of how results are paired, and into pairing them again. An excerpt has the pairs as a table; its tables and macros stand
before those of the snapshot that have the same names, so a query needs no second form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dashboard import literals, snapshot
from dashboard.byte_limited_cache import ByteLimitedCache

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    import pandas as pd

_FOLDER = Path(__file__).parent / "queries" / "excerpts"
_OF = {
    **dict.fromkeys(("geomean_changes", "last_geomeans", "trend_geomeans"), "means"),
    **dict.fromkeys(("fallback_ranking", "graph_break_reasons"), "fallbacks"),
}
"""Query → the excerpt that it is asked of, a file of `queries/excerpts`."""

_SHELVES: WeakKeyDictionary[duckdb.DuckDBPyConnection, ByteLimitedCache[RunSubset]] = WeakKeyDictionary()
"""Connection to a snapshot → its excerpts: they go when it is closed."""
_LOCK = Lock()
_MOST_BYTES = 32 * 10**6
"""Size of all cached subsets of one snapshot; thirteen runs of 550 results take about 4 MB."""
_CELL_BYTES = 16


@dataclass(frozen=True)
class RunSubset:
    """A connection with the tables of an excerpt. Temporary names belong to one connection: its readers take turns."""

    con: duckdb.DuckDBPyConnection
    _turn: Lock = field(default_factory=Lock)

    def select(self, sql: str, params: Mapping[str, Any]) -> pd.DataFrame:
        """Return the rows of a query."""
        with self._turn:
            return self.con.execute(sql, dict(params)).df()

    def __sizeof__(self) -> int:
        """Return about how many bytes its tables take."""
        sql = "SELECT coalesce(sum(estimated_size * column_count), 0) FROM duckdb_tables() WHERE temporary"
        [(cells,)] = self.con.execute(sql).fetchall()
        return _CELL_BYTES * int(cells)


def of(name: str) -> str | None:
    """Return the excerpt that a query is asked of, None for one that is asked of the snapshot."""
    return _OF.get(name)


@cache
def text(excerpt: str) -> str:
    """Return the statements that make an excerpt."""
    return (_FOLDER / f"{excerpt}.sql").read_text(encoding="utf-8")


def get(shown: str, excerpt: str, bound: Mapping[str, Any]) -> RunSubset:
    """Return an excerpt of a snapshot, made unless it is kept.

    Args:
        shown: the snapshot.
        excerpt: its name.
        bound: the parameters of its statements.
    """
    con = snapshot.connection(shown)
    with _LOCK:
        shelf = _SHELVES.setdefault(con, ByteLimitedCache(_MOST_BYTES))
    return shelf.get((excerpt, repr(sorted(bound.items()))), lambda: _made(con.cursor(), excerpt, bound))


def _made(con: duckdb.DuckDBPyConnection, excerpt: str, bound: Mapping[str, Any]) -> RunSubset:
    for statement in con.extract_statements(text(excerpt)):
        con.execute(statement, {name: bound[name] for name in literals.names(statement.query)})
    return RunSubset(con)
