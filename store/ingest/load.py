"""Bring pieces of files into the base tables by the SQL in `store/load`; a record that is there stays as it is.

What a batch holds is parsed in a scratch database in memory, over a connection of its own: while one batch is written,
the next one is parsed.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import duckdb
import msgspec
import pyarrow as pa

from store.identity import canonical
from store.ingest.pieces import Piece, read_again
from store.ingest.relation import Rejected, rejection
from store.stats.median import MIN_INTERVAL_N, lower_rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    Connection = duckdb.DuckDBPyConnection

TABLES = (
    "records",
    "samples",
    "record_fallback_ops",
    "record_graph_breaks",
    "record_graphs",
    "record_artifacts",
    "record_findings",
    "record_metrics",
)
"""What a record's rows stand in, each with a file of SQL."""
_RUN_TABLES = ("run_files", "run_environments", "plan_entries")
_RANKS_N = 100
"""Samples for which the ranks of the median's interval are made beforehand."""
_SLOTS = ("scratch.even", "scratch.odd")
_NO_JSON = (duckdb.InvalidInputException, duckdb.ConversionException)


class Batch(msgspec.Struct):
    """Pieces whose content stands parsed in a schema of the scratch database."""

    pieces: list[Piece]
    slot: str
    has_runs: bool = False

    @property
    def lines_n(self) -> int:
        return sum(piece.lines.num_rows for piece in self.pieces if piece.lines is not None)


class Loaded(msgspec.Struct, frozen=True):
    """What a batch did."""

    new_n: int
    known_n: int
    rejected: list[Rejected]


@cache
def sql(name: str) -> str:
    """Return the text of a file in `store/load`."""
    return (files("store.load") / f"{name}.sql").read_text(encoding="utf-8")


def prepare(con: Connection) -> None:
    """Give the connection that writes what the SQL refers to."""
    con.execute("ATTACH IF NOT EXISTS ':memory:' AS scratch")
    for slot in _SLOTS:
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {slot}")
    con.execute(sql("macros"))


def parsed(con: Connection, batches: Iterator[list[Piece]]) -> Iterator[Batch]:
    """Parse batches; a batch is to be written before the one after the next is asked for."""
    cursor = con.cursor()
    try:
        cursor.execute(sql("macros"))
        cursor.execute("CREATE OR REPLACE TEMP TABLE median_ranks (n BIGINT, rank BIGINT)")
        _add_ranks(cursor, range(MIN_INTERVAL_N, _RANKS_N))
        for number, pieces in enumerate(batches):
            yield _parse(cursor, Batch(pieces, _SLOTS[number % len(_SLOTS)]))
    finally:
        cursor.close()


def _parse(cursor: Connection, batch: Batch) -> Batch:
    cursor.execute(f"USE {batch.slot}")
    runs = [{"path": piece.mark.path, "text": piece.run} for piece in batch.pieces if piece.run is not None]
    if runs:
        _over(cursor, "runs", pa.Table.from_pylist(runs), "run_texts")
    batch.has_runs = bool(runs)
    if batch.lines_n:
        try:
            _over(cursor, "lines", _lines(batch.pieces), "parsed")
        except _NO_JSON:
            batch.pieces = [read_again(piece) for piece in batch.pieces]
            _over(cursor, "lines", _lines(batch.pieces), "parsed")
        _complete_ranks(cursor)
        cursor.execute(sql("made"))
    return batch


def _over(cursor: Connection, name: str, rows: pa.Table, query: str) -> None:
    """Run a query over Arrow rows that it knows by a name."""
    cursor.register(name, rows)
    try:
        cursor.execute(sql(query))
    finally:
        cursor.unregister(name)


def _lines(pieces: Sequence[Piece]) -> pa.Table:
    lines = pa.concat_tables([piece.lines for piece in pieces if piece.lines is not None])
    return lines.append_column("line_id", pa.array(range(lines.num_rows), pa.int64()))


def load_records(con: Connection, batch: Batch) -> Loaded:
    """Write the parsed records of a batch, inside the caller's transaction."""
    if not batch.lines_n:
        return Loaded(0, 0, [])
    con.execute("CREATE OR REPLACE TEMP TABLE dropped (line_id BIGINT)")
    _see(con, batch.slot, "")
    con.execute("INSERT INTO stale_runs SELECT DISTINCT run_id FROM parsed")
    con.execute(sql("known"))
    lines_n, records_n, known_n = con.execute(sql("doubles")).fetchall()[0]
    doubled = known_n > 0 or records_n < lines_n
    conflicts: list[Rejected] = []
    if doubled:
        conflicts = _drop_conflicts(con)
        _see(con, batch.slot, "WHERE line_id NOT IN (SELECT line_id FROM dropped)")
    con.execute(sql("record_sources"))
    if doubled:
        con.execute(sql("dropped"))
    for table in TABLES:
        con.execute(sql(table))
    new_n = records_n - known_n
    return Loaded(new_n, lines_n - new_n - len(conflicts), conflicts)


def _see(con: Connection, slot: str, which: str) -> None:
    """Let the SQL see what was parsed of a batch."""
    for table in ("parsed", "made"):
        con.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM {slot}.{table} {which}")  # noqa: S608


def _drop_conflicts(con: Connection) -> list[Rejected]:
    """Drop the lines whose record_id another content has taken; the order of keys is no content."""
    found = con.execute(sql("claims")).fetchall()
    taken = [row for row in found if _content(row[4]) != _content(row[5])]
    con.execute("INSERT INTO dropped SELECT unnest($lines::BIGINT[])", {"lines": [row[0] for row in taken]})
    reason = "its record_id is taken by a record of other content"
    return [rejection(path, number, offset, reason, record.encode()) for _, path, number, offset, record, _ in taken]


def _content(record: str) -> bytes:
    return canonical(msgspec.json.decode(record))


def _complete_ranks(con: Connection) -> None:
    """Add the ranks of the median's interval for records of very many samples."""
    counts = con.execute(
        "SELECT DISTINCT len(steady_s) FROM parsed "
        "WHERE blocks_n >= $n AND len(steady_s) NOT IN (SELECT n FROM median_ranks)",
        {"n": _RANKS_N},
    ).fetchall()
    if counts:
        _add_ranks(con, [count for (count,) in counts if count >= MIN_INTERVAL_N])


def _add_ranks(con: Connection, counts: Sequence[int]) -> None:
    ranks = {"n": pa.array(counts, pa.int64()), "rank": pa.array(map(lower_rank, counts), pa.int64())}
    _insert(con, "median_ranks", pa.table(ranks))


def load_runs(con: Connection, batch: Batch) -> None:
    """Write what run.json files say, after what they said before was forgotten."""
    if not batch.has_runs:
        return
    con.execute(f"CREATE OR REPLACE TEMP VIEW run_texts AS SELECT * FROM {batch.slot}.run_texts")  # noqa: S608
    for table in _RUN_TABLES:
        con.execute(sql(table))
    con.execute("INSERT INTO stale_runs SELECT DISTINCT r.run.run_id FROM run_texts")


def forget(con: Connection, paths: Sequence[str]) -> None:
    """Remove what files gave, and the records that no other file holds."""
    if not paths:
        return
    these = {"paths": list(paths)}
    con.execute(sql("forgotten"), these)
    con.execute(
        "INSERT INTO stale_runs "
        "SELECT DISTINCT run_id FROM records WHERE record_id IN (SELECT record_id FROM forgotten) "
        "UNION SELECT run_id FROM run_files WHERE list_contains($paths::VARCHAR[], path)",
        these,
    )
    for table in TABLES:
        con.execute(f"DELETE FROM {table} WHERE record_id IN (SELECT record_id FROM forgotten)")  # noqa: S608
    for table in ("record_sources", *_RUN_TABLES, "rejected_lines"):
        con.execute(f"DELETE FROM {table} WHERE list_contains($paths::VARCHAR[], path)", these)  # noqa: S608


def load_rejected(con: Connection, rejected: Sequence[Rejected]) -> None:
    """Write bad lines with their place and reason."""
    if rejected:
        _insert(con, "rejected_lines", pa.Table.from_pylist([msgspec.structs.asdict(each) for each in rejected]))


def save_watermarks(con: Connection, pieces: Sequence[Piece], now: datetime) -> None:
    """Write how far files were consumed, in the transaction of their rows."""
    marks = {piece.mark.path: piece.mark for piece in pieces}
    con.execute("DELETE FROM ingested_files WHERE path IN (SELECT unnest($paths::VARCHAR[]))", {"paths": list(marks)})
    rows = [msgspec.structs.asdict(mark) | {"ingested_at": now} for mark in marks.values()]
    _insert(con, "ingested_files", pa.Table.from_pylist(rows))


def _insert(con: Connection, table: str, rows: pa.Table) -> None:
    con.register("incoming", rows)
    con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")  # noqa: S608 (names of ours)
    con.unregister("incoming")
