"""Rows of a few runs, read once into tables of a connection of their own: the same SQL gives the same rows from them.

A change of a filter needs means over other models of the same runs. Most of its time goes into planning how results
are paired, and into pairing them again. A subset stores the pairs as a table. Its tables and macros hide those of the
snapshot with the same names, so that a query needs no second form. `ByteLimitedCache` keeps subsets and other costly
values for all readers.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from threading import Condition, Lock
from types import FunctionType, ModuleType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import duckdb
import pandas as pd
from cachetools import LRUCache, cached

from dashboard.data import query_text, snapshot

T = TypeVar("T")
_SHARED = (type, ModuleType, FunctionType)
"""Types of objects that a value references but does not own."""


class ByteLimitedCache(Generic[T]):
    """Values by key; the newest one stays, however large it is."""

    def __init__(self, most_bytes: int, size: Callable[[T], int] | None = None) -> None:
        """Limit the sum of the sizes of all values, by default what `size_of` says of each."""
        entries: LRUCache[Hashable, tuple[T, int]] = LRUCache(most_bytes, lambda entry: min(entry[1], most_bytes))
        self._size: Callable[[T], int] = size or size_of
        self._entry = cached(entries, key=lambda key, _: key, condition=Condition())(self._made)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; it is computed once, also for simultaneous calls."""
        return self._entry(key, make)[0]

    def _made(self, _key: Hashable, make: Callable[[], T]) -> tuple[T, int]:
        value = make()
        return value, self._size(value)


def size_of(value: object) -> int:
    """Return the approximate size of a value and all objects that it references."""
    total, ids, waiting = 0, set[int](), [value]
    while waiting:
        item = waiting.pop()
        if id(item) in ids or isinstance(item, _SHARED):
            continue
        ids.add(id(item))
        total += sys.getsizeof(item)
        waiting += gc.get_referents(item)
    return total


_OF = {
    **dict.fromkeys(
        ("attention", "break_even_counts", "break_evens", "geomeans", "speedup_curve", "speedups"), "speedups"
    ),
    **dict.fromkeys(("geomean_changes", "last_geomeans", "trend_geomeans", "trend_steps"), "means"),
    **dict.fromkeys(("fallback_calls", "fallback_coverage", "fallback_ranking", "graph_breaks"), "fallbacks"),
}
"""Query → the subset that answers it: statements in `queries/subsets.sql`."""

_CACHES: WeakKeyDictionary[duckdb.DuckDBPyConnection, ByteLimitedCache[RunSubset]] = WeakKeyDictionary()
"""Connection to a snapshot → its subsets, which are dropped with the connection."""
_LOCK = Lock()
_MOST_BYTES = 64 * 10**6
"""Size of all cached subsets of one snapshot; thirteen runs of 550 results take about 4 MB, and of 3,000 about 40."""
_CELL_BYTES = 16


@dataclass(frozen=True)
class RunSubset:
    """A connection with the temporary tables of a subset; its readers take turns, as they share the connection."""

    con: duckdb.DuckDBPyConnection
    _turn: Lock = field(default_factory=Lock)

    def select(self, sql: str, params: Mapping[str, Any]) -> pd.DataFrame:
        """Return the rows of a query."""
        with self._turn:
            return self.con.execute(sql, dict(params)).df()

    def __sizeof__(self) -> int:
        """Return the approximate size of its tables in bytes."""
        sql = "SELECT coalesce(sum(estimated_size * column_count), 0) FROM duckdb_tables() WHERE temporary"
        [(cells,)] = self.con.execute(sql).fetchall()
        return _CELL_BYTES * int(cells)


def of(name: str) -> str | None:
    """Return the subset that answers a query; None if the snapshot does."""
    return _OF.get(name)


def text(subset: str) -> str:
    """Return the statements that create a subset."""
    parts = {"fallbacks": (), "speedups": ("pairs",), "means": ("pairs", "models")}
    return "\n".join(query_text.read(f"subset_{name}") for name in (subset, *parts[subset]))


def get(snapshot_path: str, subset: str, parameters: Mapping[str, Any]) -> RunSubset:
    """Return a subset of a snapshot with the values that its statements bind, from the cache if it is there."""
    con = snapshot.connection(snapshot_path)
    with _LOCK:
        cache = _CACHES.setdefault(con, ByteLimitedCache(_MOST_BYTES))
    return cache.get((subset, repr(sorted(parameters.items()))), lambda: _built(con.cursor(), subset, parameters))


def _built(con: duckdb.DuckDBPyConnection, subset: str, parameters: Mapping[str, Any]) -> RunSubset:
    for statement in con.extract_statements(text(subset)):
        con.execute(statement, {name: parameters[name] for name in query_text.names(statement.query)})
    return RunSubset(con)
