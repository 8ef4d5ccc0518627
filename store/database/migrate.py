"""Bring a working database to the newest tables and views, and what is made of a run's records up to date.

`result_rows` has one row per result, which is computed again for the runs that changed.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from store.database.snapshot import Connection
from store.errors import StorageError
from store.files import queries_in, queries_of
from store.metrics import SCALARS
from store.stats.geomean import t_quantile

CHAPTERS = (
    "base",
    "results",
    "history",
    "runs",
    "speedups",
    "geomeans",
    "fallbacks",
    "operators",
    "differences",
    "noise",
    "payoffs",
    "hud",
    "reported",
)
"""Files of views, each below those that it builds on: table `result_rows` on the first, all others on it."""
_MIGRATIONS, _REFRESH, _VIEWS = (Path(__file__).parents[1] / name for name in ("migrations", "refresh", "views"))
_MAX_FREEDOM = 400
_RECORDS_AT_ONCE = 200_000
_PRUNED_AT_ONCE = 50_000
_PRUNE_STEPS = ("pruned_pools", "pruned_samples")
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
"""Selects stale runs until they have so many records, and one at least."""
_ONE_STALE = "CREATE OR REPLACE TEMP TABLE stale_now AS SELECT DISTINCT run_id FROM stale_runs"
"""The same for one stale run, whose records need not be counted."""
_ALL_STALE = "CREATE OR REPLACE TEMP MACRO is_stale(of_result) AS true"
"""All results of the stale runs are computed again; otherwise `stale_results` selects them."""
_STALE_ROWS = """
CREATE OR REPLACE TEMP TABLE stale_rows AS
SELECT rowid AS row_id, series_id
FROM result_rows
WHERE run_id IN (SELECT run_id FROM stale_now) AND is_stale(result_id)
"""
"""The rows of results that are computed again, first the old ones, then the new ones: looked for once, as the run_ids
of random digits let a scan skip nothing."""
_TOUCHED = """
INSERT INTO stale_series
SELECT DISTINCT series_id
FROM stale_rows
WHERE series_id NOT IN (SELECT series_id FROM stale_series)
"""
"""Series that lost or gained a result: their change points are computed again."""
_CHECKED = """
SELECT DISTINCT series_id
FROM result_rows
WHERE status = 'verify_only' AND series_id IN (SELECT series_id FROM stale_rows)
"""
"""Series of these rows that some run has only verified."""
_TABLES = ("planned", "benchmark_records")
"""Steps that become temporary tables, as the others ask for them more than once."""
_PARTS = ("shown_records", "measured")
"""Steps that are parts of the query of the results: as views, each would be planned once more."""
MADE = {"result_rows": "results_now", "aa_pair_rows": "pairs_now"}
"""Tables of the results of runs, and the step that makes the rows of each."""
_STEPS = (*_TABLES, *_PARTS, *MADE.values())
_FACTS = "stale_facts"
_CHANGED = "stale_results"
"""The results that changed, where those of the stale runs are known one by one."""
_CHECKS = "checks"
"""What is done to the results once they are stored."""


def script(name: str) -> str:
    """Return the text of a step, a query in `store/refresh`, with the columns of the registry for `{scalars}`."""
    return queries_of(_REFRESH)[name].replace("{scalars}", ", ".join(f"m.{name}" for name in SCALARS))


def _made() -> dict[str, str]:
    """Return the tables of the results of runs, and the query that makes the rows of each."""
    parts = ", ".join(f"{name} AS ({script(name)})" for name in _PARTS)
    rows = {table: script(step) for table, step in MADE.items()}
    return rows | {"result_rows": f"WITH {parts} SELECT * FROM ({rows['result_rows']})"}  # noqa: S608 (ours)


def recreate(con: Connection) -> None:
    """Make the tables again with the columns of this version, and every run stale."""
    con.execute(_STALE_NOW, {"records": 0})
    _define(con, all_stale=True)
    for table, query in _made().items():
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM ({query}) LIMIT 0")  # noqa: S608 (ours)
    con.execute("INSERT INTO stale_runs (run_id) SELECT run_id FROM records UNION SELECT run_id FROM run_files")
    _clear(con)


def refresh(con: Connection) -> None:
    """Replace the results of all stale runs, some runs a transaction: the memory that it takes is bounded."""
    if not _some_stale(con):
        return
    con.execute("SET preserve_insertion_order = false")  # else one core writes what two have made
    try:
        while runs := _some_stale(con):
            con.execute("BEGIN")
            if len(runs) == 1:
                con.execute(_ONE_STALE)
            else:
                con.execute(_STALE_NOW, {"records": _RECORDS_AT_ONCE})
            _replace(con)
            con.execute("DELETE FROM stale_runs WHERE run_id IN (SELECT run_id FROM stale_now)")
            _clear(con)
            con.execute("COMMIT")
    finally:
        con.execute("RESET preserve_insertion_order")


def _some_stale(con: Connection) -> list[tuple[str]]:
    """Return the stale runs, two at most."""
    return con.execute("SELECT DISTINCT run_id FROM stale_runs LIMIT 2").fetchall()


def _replace(con: Connection) -> None:
    """Replace the results of the runs of `stale_now`; a step that has nothing to do is left out."""
    [(all_stale, had_pairs, has_pairs)] = con.execute(script(_FACTS)).fetchall()
    _define(con, all_stale=all_stale)
    made = _made()
    checked = _touched(con)
    con.execute("DELETE FROM result_rows WHERE rowid IN (SELECT row_id FROM stale_rows)")
    con.execute(f"INSERT INTO result_rows BY NAME {made['result_rows']}")
    checked |= _touched(con)
    if checked:
        con.execute(script(_CHECKS), {"series": sorted(checked)})
    if had_pairs:
        con.execute("DELETE FROM aa_pair_rows WHERE run_id IN (SELECT run_id FROM stale_now)")
    if has_pairs:
        con.execute(f"INSERT INTO aa_pair_rows BY NAME {made['aa_pair_rows']}")


def _touched(con: Connection) -> set[str]:
    """Note the series of the stale runs' results, and return those that some run has only verified."""
    con.execute(_STALE_ROWS)
    con.execute(_TOUCHED)
    return {series for (series,) in con.execute(_CHECKED).fetchall()}


def _define(con: Connection, *, all_stale: bool) -> None:
    con.execute(_ALL_STALE if all_stale else script(_CHANGED))
    for name in _TABLES:
        con.execute(script(name))


def _clear(con: Connection) -> None:
    for table in (*_TABLES, _CHANGED, "stale_rows", "stale_now"):
        con.execute(f"DROP TABLE IF EXISTS {table}")


def migrate(con: Connection) -> None:
    """Apply missing migrations, one transaction each, and the views if they are not the ones of this version.

    Raises:
        StorageError: the format of the database is later than this version knows, or earlier than it can migrate.
    """
    con.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR NOT NULL)")
    refuse_unknown_format(con)
    applied, scripts = format_of(con), _migrations()
    for number in sorted(scripts):
        if number > applied:
            _apply(con, scripts[number])
    _apply_views(con)


def refuse_unknown_format(con: Connection) -> None:
    """Refuse an index that this version cannot migrate, with what helps.

    Raises:
        StorageError: its format is later than this version knows, or earlier than it can migrate.
    """
    applied, scripts = format_of(con), _migrations()
    if applied > max(scripts):
        raise StorageError(
            f"The index was written by a later version (its format is {applied}). "
            "Install that version, or delete the store folder and ingest again."
        )
    if "" < applied < min(scripts):
        raise StorageError(
            f"The index was written by an early version (its format is {applied}). "
            "Run `xlabench ingest --rebuild`: it rebuilds the index from the run folders; nothing is lost."
        )


def format_of(con: Connection) -> str:
    """Return the number of the newest migration that an index has; empty where it has none."""
    [(number,)] = con.execute("SELECT coalesce(max(left(name, 4)), '') FROM migrations").fetchall()
    return str(number)


@cache
def _migrations() -> dict[str, str]:
    """Return the names of all migrations by their number; the first one makes the tables."""
    names = (path.name for path in _MIGRATIONS.iterdir() if path.name.endswith(".sql"))
    return {name[:4]: name for name in names}


def is_current(con: Connection) -> bool:
    """Tell whether the tables and views of an index are those of this version, or its tables of a later one."""
    return format_of(con) >= max(_migrations()) and has_our_views(con)


def _apply(con: Connection, name: str) -> None:
    con.execute("BEGIN")
    con.execute((_MIGRATIONS / name).read_text(encoding="utf-8"))
    con.execute("INSERT INTO migrations VALUES ($name)", {"name": name})
    con.execute("COMMIT")


def has_our_views(con: Connection) -> bool:
    """Tell whether the views of an index are those of this version."""
    return con.execute("SELECT value FROM index_facts WHERE name = 'views'").fetchall() == [(_views_version(),)]


@cache
def views() -> dict[str, str]:
    """Return the texts of the views by name, in the order in which they are made."""
    return {name: text for chapter in CHAPTERS for name, text in queries_in(_VIEWS / f"{chapter}.sql").items()}


@cache
def _views_version() -> str:
    scripts = [*views().values(), *map(script, (_FACTS, _CHANGED, *_STEPS, _CHECKS))]
    return hashlib.blake2b("\0".join(map(without_comments, scripts)).encode(), digest_size=16).hexdigest()


_COMMENT = re.compile(r"('(?:[^']|'')*')|\s*--[^\n]*")
"""A string, in which two dashes are text, or a comment with the blanks before it."""


def without_comments(sql: str) -> str:
    """Return SQL without its comments: a reworded comment must not make every store ask for an ingest."""
    return _COMMENT.sub(lambda match: match[1] or "", sql)


def _apply_views(con: Connection) -> None:
    if has_our_views(con):
        return
    con.execute("BEGIN")
    _fill_quantiles(con)
    for chapter in CHAPTERS:
        for text in queries_in(_VIEWS / f"{chapter}.sql").values():
            con.execute(text)
        if chapter == CHAPTERS[0]:
            recreate(con)
    con.execute("DELETE FROM index_facts")  # the snapshot's number too: none has these views
    con.execute("INSERT INTO index_facts VALUES ('views', $version)", {"version": _views_version()})
    con.execute("COMMIT")


def _fill_quantiles(con: Connection) -> None:
    con.execute("DELETE FROM t_quantiles")
    quantiles = [t_quantile(freedom) for freedom in range(1, _MAX_FREEDOM + 1)]
    query = "INSERT INTO t_quantiles SELECT generate_subscripts($t::DOUBLE[], 1), unnest($t::DOUBLE[])"
    con.execute(query, {"t": quantiles})


def prune_samples(con: Connection) -> bool:
    """Take the samples of runs that were decided to be pruned out of the index; return whether anything left.

    Some runs a transaction, after their results were computed, which stay as they are. The decision is in the run
    folder (`pruned.json`), so a rebuild honours it: it reads every sample, makes the results, and ends here, too.
    """
    if not con.execute("SELECT run_id FROM pruned_runs LIMIT 1").fetchall():
        return False
    rounds_n = 0
    while _prune_some(con):
        rounds_n += 1
    for table in ("pruned_now", "pools_now"):
        con.execute(f"DROP TABLE IF EXISTS {table}")
    return rounds_n > 0


def _prune_some(con: Connection) -> bool:
    con.execute(script("pruned_now"), {"records": _PRUNED_AT_ONCE})
    if not con.execute("SELECT record_id FROM pruned_now LIMIT 1").fetchall():
        return False
    con.execute("BEGIN")
    for step in _PRUNE_STEPS:
        con.execute(script(step))
    con.execute("DELETE FROM index_facts WHERE name = 'snapshot'")  # none has this; as `mark_changed` of the owner
    con.execute("COMMIT")
    return True
