"""What DuckDB itself needs for the same lines: the reference of the ingest benchmark."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from store.database.owner import STORAGE_VERSION
from store.ingest.parse import sql

_SAMPLES = (
    "CREATE TABLE samples AS SELECT record_id, generate_subscripts(metrics.total_time, 1) AS block, "
    "unnest(metrics.total_time) AS total_s, unnest(metrics.per_iter_time) AS per_iter_s, "
    "unnest(measurement.blocks.kind) AS kind FROM records"
)


def shape() -> str:
    """Return the columns that our own SQL reads, as DuckDB's JSON functions want them."""
    line, metrics = (re.search(rf"from_json\({name}, '(.*?)'\)", sql("made")) for name in ("line", r"r\.metrics"))
    assert line
    assert metrics
    return line[1].replace('"metrics": "JSON"', f'"metrics": {metrics[1]}')


def _type(value: Any) -> str:
    if isinstance(value, list):
        return _type(value[0]) + "[]"
    if isinstance(value, dict):
        return "STRUCT(" + ", ".join(f'"{name}" {_type(each)}' for name, each in value.items()) + ")"
    return str(value)


def _columns() -> str:
    return "{" + ", ".join(f"'{name}': '{_type(value)}'" for name, value in json.loads(shape()).items()) + "}"


def _read(paths: Sequence[str]) -> str:
    return f"read_json({list(paths)}, format = 'newline_delimited', columns = {_columns()})"


def scan(paths: Sequence[str]) -> None:
    """Read every line with explicit columns and keep nothing."""
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute(f"SELECT count(*), sum(timestamp), sum(len(metrics.total_time)) FROM {_read(paths)}").fetchall()
    con.close()


def two_scans(paths: Sequence[str], database: Path) -> None:
    """`read_json` with explicit columns, the raw line by a second scan, samples, file closed."""
    con = _connect(database)
    con.execute(
        f"CREATE TABLE records AS SELECT a.*, b.json AS raw FROM {_read(paths)} AS a "
        f"POSITIONAL JOIN read_ndjson_objects({list(paths)}) AS b"
    )
    con.execute(_SAMPLES)
    con.close()


def one_scan(paths: Sequence[str], database: Path) -> None:
    """Raw lines, explicit columns out of them, samples, file closed."""
    con = _connect(database)
    con.execute(
        "CREATE TABLE records AS SELECT r.*, raw FROM "
        f"(SELECT json AS raw, from_json(json, '{shape()}') AS r FROM read_ndjson_objects({list(paths)}))"
    )
    con.execute(_SAMPLES)
    con.close()


def script(paths: Sequence[str], database: Path) -> None:
    """Read records as a plain script does: decode and hash each line, insert lines and samples as Arrow."""
    con, decoder = _connect(database), msgspec.json.Decoder()
    con.execute("CREATE TABLE records (record_id VARCHAR, model VARCHAR, test VARCHAR, raw VARCHAR)")
    con.execute("CREATE TABLE samples (record_id VARCHAR, block INTEGER, total_s DOUBLE)")
    for path in paths:
        records, samples = [], []
        for line in Path(path).read_bytes().splitlines():
            record, name = decoder.decode(line), hashlib.blake2b(line, digest_size=10).hexdigest()
            records.append((name, record["model"]["model_name"], record["experiment"]["test"], line.decode()))
            samples += [(name, block, total) for block, total in enumerate(record["metrics"].get("total_time", ()))]
        for table, rows in (("records", records), ("samples", samples)):
            con.register("rows", pa.table(list(zip(*rows, strict=True)), [str(place) for place in range(len(rows[0]))]))
            con.execute(f"INSERT INTO {table} FROM rows")
            con.unregister("rows")
    con.close()


def _connect(database: Path) -> duckdb.DuckDBPyConnection:
    database.unlink(missing_ok=True)
    con = duckdb.connect(str(database), config={"storage_compatibility_version": STORAGE_VERSION})
    con.execute("SET enable_progress_bar = false")
    return con
