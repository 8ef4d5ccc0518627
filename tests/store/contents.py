"""The whole content of a store, in a form that two stores can be compared by."""

from pathlib import Path

from store import query

_APART = {"ingested_at", "device", "inode", "modified_ns"}
"""Columns that say when and where a file was read, not what it holds."""
_OWN = {"migrations", "index_facts", "t_quantiles", "stale_runs", "stale_series", "ingested_files"}
"""Tables about the index itself."""


def contents(store_dir: Path, *, files: bool = False) -> dict[str, list[str]]:
    """Return the rows of every table as sorted text; with `files`, how far each file was read too."""
    with query.connect(query.current_snapshot(store_dir)) as con:
        names = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        found, shown = {}, f"COLUMNS(lambda name: NOT list_contains({sorted(_APART)}, name))"
        for name in sorted({*names, "results"} - (_OWN - ({"ingested_files"} if files else set()))):
            rows = con.execute(f"SELECT {shown} FROM {name}").fetchall()
            found[name] = sorted(map(repr, rows))
        return found
