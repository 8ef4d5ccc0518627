"""Bring a working database to the newest tables and views."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from store.database import refresh
from store.database.views import BEFORE_RESULTS, VIEWS
from store.errors import StorageError
from store.stats.geomean import t_quantile

if TYPE_CHECKING:
    import duckdb

_MAX_FREEDOM = 400


def migrate(con: duckdb.DuckDBPyConnection) -> None:
    """Apply missing migrations, one transaction each, and the views if they are not the ones of this version.

    Raises:
        StorageError: the database has migrations that this version does not know.
    """
    con.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR NOT NULL)")
    applied = {name for (name,) in con.execute("SELECT name FROM migrations").fetchall()}
    scripts = sorted(migration_names())
    if unknown := sorted(applied - set(scripts)):
        raise StorageError(
            f"The index was written by a later version (it has {', '.join(unknown)}). "
            "Install that version, or delete the store folder and ingest again."
        )
    for name in scripts:
        if name not in applied:
            _apply(con, name)
    _apply_views(con)


def migration_names() -> frozenset[str]:
    """Return the names of all migrations that this version knows."""
    return frozenset(path.name for path in files("store.migrations").iterdir() if path.name.endswith(".sql"))


def _apply(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute("BEGIN")
    con.execute((files("store.migrations") / name).read_text(encoding="utf-8"))
    con.execute("INSERT INTO migrations VALUES ($name)", {"name": name})
    con.execute("COMMIT")


def has_our_views(con: duckdb.DuckDBPyConnection) -> bool:
    """Tell whether the views of an index are those of this version."""
    return con.execute("SELECT value FROM index_facts WHERE name = 'views'").fetchall() == [(_views_version(),)]


@cache
def _scripts() -> tuple[str, ...]:
    return tuple((files("store.views") / f"{name}.sql").read_text(encoding="utf-8") for name in VIEWS)


@cache
def _views_version() -> str:
    return hashlib.blake2b("\0".join([*_scripts(), *refresh.scripts()]).encode(), digest_size=16).hexdigest()


def _apply_views(con: duckdb.DuckDBPyConnection) -> None:
    if has_our_views(con):
        return
    con.execute("BEGIN")
    _fill_quantiles(con)
    for name, script in zip(VIEWS, _scripts(), strict=True):
        con.execute(script)
        if name == BEFORE_RESULTS[-1]:  # the results build on these, all others on the results
            refresh.recreate(con)
    con.execute("DELETE FROM index_facts")  # the snapshot's number too: none has these views
    con.execute("INSERT INTO index_facts VALUES ('views', $version)", {"version": _views_version()})
    con.execute("COMMIT")


def _fill_quantiles(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM t_quantiles")
    quantiles = [t_quantile(freedom) for freedom in range(1, _MAX_FREEDOM + 1)]
    query = "INSERT INTO t_quantiles SELECT generate_subscripts($t::DOUBLE[], 1), unnest($t::DOUBLE[])"
    con.execute(query, {"t": quantiles})
