"""Our own formats: partitioned tables, one Parquet file of whole records, and the lines as they were.

Tables are `TABLE/month=YYYY-MM/RUN.parquet`: one file for each table and run, in the layout that Hive, Spark, DuckDB
and pyarrow call hive partitioning. A run that is exported again replaces its own files, so a nightly export of the
newest run to the same folder keeps the folder up to date.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from store.errors import UsageError
from store.exporters.target import Target, WrittenExport, folder_name, rows
from store.files import write_atomically
from store.identity import setting_of
from store.query import Connection, fetch, named
from store.run_file import RESULTS, RUN_FILE

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


def export_tables(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write every table of the runs; `records_n` is the number of rows over all tables."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    rows_n = 0
    for row in fetch(con, named("export_table_runs"), {"runs": list(runs)}):
        place = f"month={row['month']}/{folder_name(row['run_id'])}.parquet"
        for table in BY_RUN:
            parameters = {"table": table, "runs": [row["run_id"]]}
            rows_n += _write_rows(con, named("export_table"), parameters, target.folder / table / place)
        for table in ("samples", "speedups"):
            parameters = {"runs": [row["run_id"]]}
            rows_n += _write_rows(con, named(f"export_table_{table}"), parameters, target.folder / table / place)
    return WrittenExport(rows_n)


def check(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier export of this kind.

    Raises:
        UsageError: something else lies there.
    """
    tables = {*BY_RUN, "samples", "speedups"}
    if folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - tables):
        raise UsageError(
            f"{folder} contains files that are not an export of tables. Name a new folder or that of an earlier export."
        )


def _write_rows(con: Connection, text: str, parameters: Mapping[str, Any], path: Path) -> int:
    """Write the rows of a query to a file; a result without rows has none, and removes that of an earlier export."""
    rows_n = _write(con, text, parameters, path, _ROWS)
    if not rows_n:
        path.unlink()
    return rows_n


def _write(con: Connection, text: str, parameters: Mapping[str, Any], path: Path, most: int) -> int:
    """Write the rows of a query to a file, which is replaced as a whole; at most `most` are in memory at a time."""
    temporary, rows_n = path.with_suffix(".tmp"), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    reader = con.cursor().sql(text, params=parameters).to_arrow_reader(most)
    try:
        with pq.ParquetWriter(temporary, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows_n += batch.num_rows
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return rows_n


# The original lines: run folders that can be ingested again, or a stream of lines.
def export_jsonl(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write FOLDER/RUN/results.jsonl with its run.json; standard output receives the lines only."""
    records, lines_n = rows(con, "export_record_lines", runs), 0
    if target.folder is None:
        for row in records:
            assert target.file is not None  # noqa: S101 (one of the two is there)
            target.file.write(row["record"].encode() + b"\n")
            lines_n += 1
        return WrittenExport(lines_n, ("The plans of the runs are left out; --output DIR includes them.",))
    for run, of_run in itertools.groupby(records, itemgetter("run_id")):
        folder = target.folder / folder_name(run)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / RESULTS).open("wb") as file:
            for row in of_run:
                file.write(row["record"].encode() + b"\n")
                lines_n += 1
    return WrittenExport(lines_n, missing_plans_sentence(write_plans(con, runs, target.folder)))


# Typed columns for other tools, and the whole record, from which the rows can be restored.
FILE = "records.parquet"
_RECORDS = 20_000


def export_parquet(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write FOLDER/records.parquet, and FOLDER/runs/RUN/run.json beside it."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    records_n = _write(con, named("export_lines"), {"runs": list(runs)}, target.folder / FILE, _RECORDS)
    return WrittenExport(records_n, missing_plans_sentence(write_plans(con, runs, target.folder / "runs")))


# The run.json of runs: a copy of the file if it still exists, else one made from the index.
_OF_ENTRY = ("experiment_id", "environment", "group", "variant", "backend", "skip_reason")


def write_plans(con: Connection, runs: Sequence[str], folder: Path) -> list[str]:
    """Write FOLDER/RUN/run.json for each run that has one; return the runs whose own file is missing."""
    missing = []
    for row in rows(con, "export_plans", runs):
        target = folder / folder_name(row["run_id"])
        target.mkdir(parents=True, exist_ok=True)
        data = _original(row)
        if data is None:
            missing.append(row["run_id"])
            data = msgspec.json.format(msgspec.json.encode(_from_index(row)), indent=1) + b"\n"
        write_atomically(target / RUN_FILE, data)
    return missing


def _original(row: dict[str, Any]) -> bytes | None:
    """Return the file; None if it is missing or belongs to another run by now."""
    try:
        data = Path(row["path"]).read_bytes()
        is_same_run: bool = json.loads(data)["run"]["run_id"] == row["run_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return data if is_same_run else None


def _from_index(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": {"run_id": row["run_id"], "label": row["label"], "command": row["command"]},
        "timestamp": row["started"],
        "environments": [json.loads(facts) for facts in row["environments"] or []],
        "settings": json.loads(row["settings"] or "{}"),
        "plan": [_entry(entry) for entry in row["plan"] or []],
        "plan_id": row["plan_id"],
    }


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    config = {name: value for name, value in row.items() if name not in (*_OF_ENTRY, "workload")}
    config |= dict(setting_of(word) for word in (row["workload"] or "").split())
    settings = {name: value for name, value in config.items() if value is not None}
    return {**{name: row[name] for name in _OF_ENTRY}, "config": settings}


def missing_plans_sentence(missing: Sequence[str]) -> tuple[str, ...]:
    """Return a note on runs whose run.json was written from the index."""
    if not missing:
        return ()
    return (f"The run.json of {', '.join(missing)} is missing; the plan was written from the index.",)
