"""Keep what is made of a run's records up to date (`result_rows`: one row per result), anew for the runs that changed.

The result of an experiment depends on its own run, and on what a later run has verified of it (`checks.sql`). So a page
reads stored rows, and an ingest touches few of them.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_RECORDS_AT_ONCE = 200_000
_STALE_NOW = """
CREATE OR REPLACE TEMP TABLE stale_now AS
WITH counts AS (
    SELECT s.run_id, count(r.run_id) AS records_n
    FROM (SELECT DISTINCT run_id FROM stale_runs) AS s
    LEFT JOIN records AS r ON r.run_id = s.run_id
    GROUP BY s.run_id
)
SELECT run_id FROM counts WHERE $records > 0
QUALIFY sum(records_n) OVER (ORDER BY run_id) - records_n < $records
"""
"""As many stale runs as have so many records; one at least."""
MADE = {"result_rows": "results_now", "run_sources": "sources_now", "aa_pair_rows": "pairs_now"}
"""Tables of the results of runs, and the step that makes each."""
_TOUCHED = """
INSERT INTO stale_series
SELECT DISTINCT series_id
FROM result_rows
WHERE run_id IN (SELECT run_id FROM stale_now) AND series_id NOT IN (SELECT series_id FROM stale_series)
"""
"""Series that lost or gained a result: their change points are computed anew."""
_CHECKED = """
SELECT DISTINCT series_id
FROM result_rows
WHERE status = 'verify_only'
    AND series_id IN (SELECT series_id FROM result_rows WHERE run_id IN (SELECT run_id FROM stale_now))
"""
"""Series of stale runs that some run has only verified: asked before these runs' results are replaced, and after."""
_TABLES = ("planned", "benchmark_records")
"""Steps that are kept while the others, which are views, ask for them more than once."""
_STEPS = (*_TABLES, "shown_records", "measured", "results_now", "sources_now", "pairs_now")
_CHECKS = "checks"
"""What is done to the results once they are stored."""


def scripts() -> list[str]:
    """Return the steps from stale runs to their results, in the order in which they build on each other."""
    return [_script(name) for name in (*_STEPS, _CHECKS)]


def _script(name: str) -> str:
    return (files("store.refresh") / f"{name}.sql").read_text(encoding="utf-8")


def recreate(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables again with the columns of this version, and every run stale."""
    _define(con, at_once=0)
    for table, step in MADE.items():
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM {step} LIMIT 0")  # noqa: S608 (ours)
    con.execute("INSERT INTO stale_runs SELECT run_id FROM records UNION SELECT run_id FROM run_files")
    _clear(con)


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Replace the results of all stale runs, some runs a transaction: the memory that it takes is bounded."""
    con.execute("SET preserve_insertion_order = false")  # else one core writes what two have made
    try:
        _refresh(con)
    finally:
        con.execute("RESET preserve_insertion_order")


def _refresh(con: duckdb.DuckDBPyConnection) -> None:
    while con.execute("SELECT run_id FROM stale_runs LIMIT 1").fetchall():
        con.execute("BEGIN")
        _define(con, at_once=_RECORDS_AT_ONCE)
        con.execute(_TOUCHED)
        con.execute(f"CREATE OR REPLACE TEMP TABLE checked_now AS {_CHECKED}")
        for table, step in MADE.items():
            con.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM stale_now)")  # noqa: S608 (ours)
            con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {step}")  # noqa: S608 (ours)
        con.execute(_TOUCHED)
        con.execute(f"INSERT INTO checked_now {_CHECKED}")
        if con.execute("SELECT series_id FROM checked_now LIMIT 1").fetchall():
            con.execute(_script(_CHECKS))
        con.execute("DELETE FROM stale_runs WHERE run_id IN (SELECT run_id FROM stale_now)")
        _clear(con)
        con.execute("COMMIT")


def _define(con: duckdb.DuckDBPyConnection, *, at_once: int) -> None:
    con.execute(_STALE_NOW, {"records": at_once})
    for name in _STEPS:
        con.execute(_script(name))


def _clear(con: duckdb.DuckDBPyConnection) -> None:
    for table in (*_TABLES, "stale_now", "checked_now"):
        con.execute(f"DROP TABLE IF EXISTS {table}")
