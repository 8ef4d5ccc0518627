"""Keep what is made of a run's records up to date (`result_rows`: one row per result), anew for the runs that changed.

The result of an experiment depends on its own run only, so a page reads stored rows and an ingest touches few of them.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MADE = {"result_rows": "results_now", "run_sources": "sources_now", "aa_pair_rows": "pairs_now"}
"""Tables of the results of runs, and the step that makes each."""
_TOUCHED = """
INSERT INTO stale_series
SELECT DISTINCT series_id FROM result_rows WHERE run_id IN (SELECT run_id FROM stale_runs)
"""
"""Series that lost or gained a result: their change points are computed anew."""
_STEPS = ("planned", "benchmark_records", "shown_records", "measured", "results_now", "sources_now", "pairs_now")


def scripts() -> list[str]:
    """Return the steps from stale runs to their results, in the order in which they build on each other."""
    return [(files("store.refresh") / f"{name}.sql").read_text(encoding="utf-8") for name in _STEPS]


def recreate(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables again with the columns of this version, and every run stale."""
    _define(con)
    for table, step in MADE.items():
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM {step} LIMIT 0")  # noqa: S608 (ours)
    con.execute("INSERT INTO stale_runs SELECT run_id FROM records UNION SELECT run_id FROM run_files")


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Replace the results of all stale runs, in one transaction."""
    if not con.execute("SELECT run_id FROM stale_runs LIMIT 1").fetchall():
        return
    _define(con)
    con.execute("BEGIN")
    con.execute(_TOUCHED)
    for table, step in MADE.items():
        con.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM stale_runs)")  # noqa: S608 (ours)
        con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {step}")  # noqa: S608 (ours)
    con.execute(_TOUCHED)
    con.execute("DELETE FROM stale_runs")
    con.execute("COMMIT")


def _define(con: duckdb.DuckDBPyConnection) -> None:
    for script in scripts():
        con.execute(script)
