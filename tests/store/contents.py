"""The whole content of a store, in a form that two stores can be compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store import query

if TYPE_CHECKING:
    from pathlib import Path

_TABLES = (
    "records",
    "samples",
    "record_fallback_ops",
    "record_graph_breaks",
    "record_artifacts",
    "record_sources",
    "rejected_lines",
    "run_files",
    "run_environments",
    "plan_entries",
    "results",
)


def contents(store_dir: Path) -> dict[str, list[str]]:
    """Return the rows of every table as sorted text; times of ingest are left out."""
    with query.connect(query.current_snapshot(store_dir)) as con:
        return {table: sorted(map(repr, con.execute(f"FROM {table}").fetchall())) for table in _TABLES}
