"""Write rows into the base tables; a record that is already there is not written again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from store.ingest.rows import Row, Rows, now
from store.ingest.tail import RawLine

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection
    from collections.abc import Iterable, Sequence

    from store.ingest.run_json import RunRows
    from store.ingest.tail import Watermark

_ARROW = {
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
    "DOUBLE[]": pa.list_(pa.float64()),
}
_CHILDREN = (
    "samples",
    "record_fallback_ops",
    "record_graph_breaks",
    "record_artifacts",
    "record_findings",
    "record_graphs",
    "record_metrics",
)


class Loaded(msgspec.Struct, frozen=True):
    """What a batch did: how many records were new, and lines whose record_id another content has taken."""

    new_n: int
    conflicts: list[RawLine]


def insert(con: Connection, table: str, rows: Sequence[Row], where: str = "") -> None:
    """Append rows to a table by column name; `where` is SQL of ours that filters `incoming`."""
    if not rows:
        return
    con.register("incoming", pa.Table.from_pylist(list(rows), schema=_schema(con, table)))
    con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming {where}")  # noqa: S608
    con.unregister("incoming")


def _schema(con: Connection, table: str) -> pa.Schema:
    """Return the columns of a table; every index of this version has the same."""
    if table not in _schemas:
        columns = con.execute(f"DESCRIBE {table}").fetchall()
        _schemas[table] = pa.schema([(name, _ARROW[kind]) for name, kind, *_ in columns])
    return _schemas[table]


_schemas: dict[str, pa.Schema] = {}


def load_records(con: Connection, path: str, batch: Sequence[tuple[RawLine, Rows]]) -> Loaded:
    """Write a batch of records of one file, inside the caller's transaction."""
    _stale(con, {rows.record["run_id"] for _, rows in batch})
    known = _known_contents(con, [rows.record["record_id"] for _, rows in batch])
    fresh: list[Rows] = []
    sources: list[Row] = []
    conflicts: list[RawLine] = []
    for line, rows in batch:
        identity, content = rows.record["record_id"], rows.record["content_hash"]
        if identity not in known:
            known[identity] = content
            fresh.append(rows)
        elif known[identity] != content:
            conflicts.append(line)
            continue
        sources.append({"record_id": identity, "path": path, "byte_offset": line.offset})
    insert(con, "records", [rows.record for rows in fresh])
    insert(con, "samples", [row for rows in fresh for row in rows.samples])
    insert(con, "record_fallback_ops", [row for rows in fresh for row in rows.fallback_ops])
    insert(con, "record_graph_breaks", [row for rows in fresh for row in rows.graph_breaks])
    insert(con, "record_artifacts", [row for rows in fresh for row in rows.artifacts])
    insert(con, "record_findings", [row for rows in fresh for row in rows.findings])
    insert(con, "record_graphs", [row for rows in fresh for row in rows.graphs])
    insert(con, "record_metrics", [row for rows in fresh for row in rows.metrics])
    insert(con, "record_sources", sources)
    return Loaded(len(fresh), conflicts)


def _known_contents(con: Connection, identities: list[str]) -> dict[str, str]:
    query = "SELECT record_id, content_hash FROM records WHERE record_id IN (SELECT unnest($identities::VARCHAR[]))"
    return dict(con.execute(query, {"identities": identities}).fetchall())


def _stale(con: Connection, runs: set[str]) -> None:
    """Say that these runs' results have to be made anew."""
    con.execute("INSERT INTO stale_runs SELECT unnest($runs::VARCHAR[])", {"runs": sorted(runs)})


def load_run(con: Connection, rows: RunRows, path: str) -> None:
    """Replace what a run.json gave before by what it holds now."""
    forget_run(con, path)
    _stale(con, {rows.run["run_id"]})
    insert(con, "run_files", [rows.run])
    insert(con, "run_environments", rows.environments)
    insert(con, "plan_entries", rows.plan)


def forget_run(con: Connection, path: str) -> None:
    """Remove the rows of a run.json."""
    con.execute("INSERT INTO stale_runs SELECT run_id FROM run_files WHERE path = $path", {"path": path})
    for table in ("run_files", "run_environments", "plan_entries", "rejected_lines"):
        con.execute(f"DELETE FROM {table} WHERE path = $path", {"path": path})  # noqa: S608


def forget_results(con: Connection, path: str) -> None:
    """Remove the rows of a results file, and the records that no other file holds."""
    con.execute(
        "INSERT INTO stale_runs "
        "SELECT DISTINCT run_id FROM records JOIN record_sources USING (record_id) WHERE path = $path",
        {"path": path},
    )
    for table in ("record_sources", "rejected_lines"):
        con.execute(f"DELETE FROM {table} WHERE path = $path", {"path": path})  # noqa: S608
    for table in ("records", *_CHILDREN):
        con.execute(f"DELETE FROM {table} WHERE record_id NOT IN (SELECT record_id FROM record_sources)")  # noqa: S608


def load_rejected(con: Connection, path: str, rejected: Iterable[tuple[RawLine, str]]) -> None:
    """Write bad lines with their place and reason."""
    rows = [
        {"path": path, "line_number": line.number, "byte_offset": line.offset, "reason": reason}
        for line, reason in rejected
    ]
    insert(con, "rejected_lines", rows)


def save_watermark(con: Connection, mark: Watermark) -> None:
    """Write how far a file was consumed, in the transaction of its rows."""
    con.execute("DELETE FROM ingested_files WHERE path = $path", {"path": mark.path})
    row: dict[str, Any] = msgspec.structs.asdict(mark) | {"ingested_at": now()}
    insert(con, "ingested_files", [row])
