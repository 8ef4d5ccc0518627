"""Take the samples of runs that were decided to be pruned out of the index; their results stay as they are.

The decision stands in the run folder (`pruned.json`), so a rebuild honours it: it reads every sample, makes the results
of them, and ends here like any other session of an owner.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_RECORDS_AT_ONCE = 50_000
_STEPS = ("pruned_pools", "pruned_samples")


def prune_samples(con: duckdb.DuckDBPyConnection) -> bool:
    """Prune some runs a transaction, after their results were made; return whether anything left."""
    if not con.execute("SELECT run_id FROM pruned_runs LIMIT 1").fetchall():
        return False
    rounds_n = 0
    while _prune_some(con):
        rounds_n += 1
    for table in ("pruned_now", "pools_now"):
        con.execute(f"DROP TABLE IF EXISTS {table}")
    return rounds_n > 0


def _prune_some(con: duckdb.DuckDBPyConnection) -> bool:
    con.execute(_script("pruned_now"), {"records": _RECORDS_AT_ONCE})
    if not con.execute("SELECT record_id FROM pruned_now LIMIT 1").fetchall():
        return False
    con.execute("BEGIN")
    for step in _STEPS:
        con.execute(_script(step))
    con.execute("DELETE FROM index_facts WHERE name = 'snapshot'")  # none has this; as `mark_changed` of the owner
    con.execute("COMMIT")
    return True


def _script(name: str) -> str:
    return (files("store.refresh") / f"{name}.sql").read_text(encoding="utf-8")
