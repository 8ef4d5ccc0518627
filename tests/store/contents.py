"""The whole content of a store, in a form that two stores can be compared by."""

from pathlib import Path

from store import query

_APART = {"ingested_at", "device", "inode", "modified_ns"}
"""Columns that say when and where a file was read, not what it holds."""
_OWN = {"migrations", "index_facts", "t_quantiles", "stale_runs", "stale_series", "ingested_files"}
"""Tables about the index itself."""


_SHOWN = f"COLUMNS(lambda name: NOT list_contains({sorted(_APART)}, name))"


def contents(store_dir: Path, *, files: bool = False) -> dict[str, list[str]]:
    """Return the rows of every table as sorted text; with `files`, how far each file was read too."""
    with query.connect(query.current_snapshot(store_dir)) as con:
        names = _tables(con) | ({"ingested_files"} if files else set())
        return {
            name: sorted(map(repr, con.execute(f"SELECT {_SHOWN} FROM {name}").fetchall())) for name in sorted(names)
        }


def digests(store_dir: Path) -> dict[str, tuple[int, int]]:
    """Return the number of rows of every table and the sum of their hashes, for stores too large for `contents`."""
    with query.connect(query.current_snapshot(store_dir)) as con:
        sums = "SELECT count(*), coalesce(sum(hash(rows)::HUGEINT), 0)::HUGEINT"
        return {
            name: con.execute(f"{sums} FROM (SELECT {_SHOWN} FROM {name}) AS rows").fetchone()
            for name in sorted(_tables(con))
        }


def _tables(con: query.Connection) -> set[str]:
    names = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    return (names | {"results"}) - _OWN
