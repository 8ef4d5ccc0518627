"""Our own Parquet: typed columns for other tools, and the whole record, from which the rows can be made again."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from store.exporters import plans
from store.exporters.lines import rows
from store.exporters.target import Exported, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.query import Connection

FILE = "records.parquet"
_ROWS = 20_000
_ARROW = {
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}


def export(con: Connection, runs: Sequence[str], target: Target) -> Exported:
    """Write FOLDER/records.parquet, and FOLDER/runs/RUN/run.json beside it."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    found, written, schema = rows(con, "export_lines", runs), 0, _schema(con)
    with pq.ParquetWriter(target.folder / FILE, schema, compression="zstd") as writer:
        while batch := list(itertools.islice(found, _ROWS)):
            columns = [pa.array([row[field.name] for row in batch], field.type) for field in schema]
            writer.write_table(pa.table(columns, schema=schema))
            written += len(batch)
    return Exported(written, plans.missing_plans_sentence(plans.write(con, runs, target.folder / "runs")))


def _schema(con: Connection) -> pa.Schema:
    """Return the columns of table `records`: their units are in their names, times are UTC."""
    columns = con.cursor().execute("DESCRIBE records").fetchall()
    return pa.schema([(str(name), _arrow(kind)) for name, kind, *_ in columns])


def _arrow(kind: str) -> pa.DataType:
    return pa.list_(_arrow(kind.removesuffix("[]"))) if kind.endswith("[]") else _ARROW[kind]
