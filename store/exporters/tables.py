"""The index as partitioned Parquet, which any engine queries where it lies: a folder that a team shares.

`TABLE/month=YYYY-MM/RUN.parquet`: one file for each table and run, in the layout that Hive, Spark, DuckDB and pyarrow
call hive partitioning. A run that is exported again replaces its own files, so a nightly export of the newest run to
the same folder keeps the folder up to date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from store.errors import UsageError
from store.exporters.target import Exported, Target, folder_name
from store.query import fetch, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from store.query import Connection

BY_RUN = (
    "runs",
    "run_status",
    "rates",
    "results",
    "compile_times",
    "memory",
    "operators",
    "fallback_ops",
    "fallback_calls",
    "graph_breaks",
    "findings",
)
"""Views with a `run_id`, exported as they are."""
_ROWS = 50_000


def export(con: Connection, runs: Sequence[str], target: Target) -> Exported:
    """Write every table of the runs; `records_n` is the number of rows over all tables."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    written = 0
    for row in fetch(con, named("export_table_runs"), {"runs": list(runs)}):
        place = f"month={row['month']}/{folder_name(row['run_id'])}.parquet"
        for table in BY_RUN:
            bound = {"table": table, "runs": [row["run_id"]]}
            written += _write(con, named("export_table"), bound, target.folder / table / place)
        for table in ("samples", "speedups"):
            bound = {"runs": [row["run_id"]]}
            written += _write(con, named(f"export_table_{table}"), bound, target.folder / table / place)
    return Exported(written)


def check(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier export of this kind.

    Raises:
        UsageError: something else lies there.
    """
    known = {*BY_RUN, "samples", "speedups"}
    if folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - known):
        raise UsageError(
            f"{folder} holds files that are not an export of tables. Name a new folder, or that of an earlier export."
        )


def _write(con: Connection, text: str, bound: Mapping[str, Any], path: Path) -> int:
    """Write what a query gives to a file, as a whole; a result without rows takes an earlier file away."""
    temporary, written = path.with_suffix(".tmp"), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    reader = con.cursor().sql(text, params=bound).to_arrow_reader(_ROWS)
    try:
        with pq.ParquetWriter(temporary, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)
                written += batch.num_rows
        if written:
            temporary.replace(path)
        else:
            path.unlink(missing_ok=True)
    finally:
        temporary.unlink(missing_ok=True)
    return written
