"""Write parsed batches into the base tables; a record that is there is never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from store.database.snapshot import Connection
from store.identity import canonical
from store.ingest.chunks import Chunk
from store.ingest.parse import DETAILS, RUN_TABLES, Batch, sql
from store.ingest.relation import Rejected, rejection

Hashes = npt.NDArray[np.uint64]

_SMALL = 1000
"""For a first batch of at most so many records a query of the index is quicker."""


class KnownHashes:
    """Hashes of all record_ids that were ever loaded, removed ones included, so that no known record is called new.

    The hashes are in sorted arrays, each at least twice as long as the next, so that each is sorted only a few times.
    A small first batch may be the only one: `add` reads no hashes for it and leaves the decision to the index.
    """

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._sorted: list[Hashes] = []
        self._first: Hashes = np.zeros(0, np.uint64)
        self._batches_n = 0

    def add(self, hashes: Hashes) -> bool:
        """Add a batch; tell whether all of its records are certainly new and distinct."""
        self._batches_n += 1
        if self._batches_n == 1 and len(hashes) <= _SMALL:
            self._first = hashes
            return False
        if not self._sorted:
            # The index may not contain the first batch yet.
            self._sorted = [np.sort(np.concatenate((self._of_index(), self._first)))]
        batch = np.sort(hashes)
        new = not (batch[1:] == batch[:-1]).any() and not any(_meet(batch, older) for older in self._sorted)
        self._sorted.append(batch)
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            last = self._sorted.pop()
            self._sorted[-1] = np.sort(np.concatenate((self._sorted[-1], last)))
        return new

    def _of_index(self) -> Hashes:
        hashes = self._con.execute("SELECT hash(record_id) AS id_hash FROM records").fetchnumpy()["id_hash"]
        return np.asarray(hashes, np.uint64)


def _meet(batch: Hashes, hashes: Hashes) -> bool:
    """Tell whether two sorted arrays have an element in common."""
    if not hashes.size:
        return False
    places = np.minimum(np.searchsorted(hashes, batch), hashes.size - 1)
    return bool((hashes[places] == batch).any())


MOST_STALE = 1000
"""A batch of at most so many records marks single results as stale; a larger one marks whole runs."""


class LoadedBatch(msgspec.Struct, frozen=True):
    """Numbers of new and known records of a batch, and its rejected lines."""

    new_n: int
    known_n: int
    rejected: list[Rejected]


@contextmanager
def settings(con: Connection) -> Iterator[None]:
    """Set the database up for a load: each statement on one core, as the cores parse batches side by side."""
    con.execute("SET threads = 1")
    con.execute("SET arrow_lossless_conversion = true")
    try:
        yield
    finally:
        con.execute("RESET threads")
        con.execute("RESET arrow_lossless_conversion")


def load_records(con: Connection, batch: Batch, known_hashes: KnownHashes) -> LoadedBatch:
    """Write the parsed records of a batch, inside the caller's transaction."""
    if not batch.lines_n:
        return LoadedBatch(0, 0, [])
    con.register("made", batch.rows["made"])
    try:
        return _load_records(con, batch, known_hashes)
    finally:
        con.unregister("made")


def _load_records(con: Connection, batch: Batch, known_hashes: KnownHashes) -> LoadedBatch:
    made = batch.rows["made"]
    result = "result_of(run_id, experiment_id, environment)" if batch.lines_n <= MOST_STALE else "NULL"
    con.execute(f"INSERT INTO stale_runs SELECT DISTINCT run_id, {result} FROM made")  # noqa: S608 (ours)
    known_n, records_n = 0, made.num_rows
    if not known_hashes.add(made["id_hash"].to_numpy()):
        [(known_n,)] = con.execute(sql("known")).fetchall()
        records_n = len(made["record_id"].unique())
    conflicts: list[Rejected] = []
    dropped: list[int] = []
    if known_n or records_n < made.num_rows:
        conflicting, conflicts = _conflicts(con)
        dropped = [line for (line,) in con.execute(sql("dropped")).fetchall()]
        _see(con, _without(made, conflicting))
    con.execute(sql("record_sources"))
    if dropped:
        _see(con, _without(made, dropped))
    con.execute(sql("records"))
    for table in DETAILS:
        if table in batch.rows:
            _insert(con, table, _without(batch.rows[table], dropped).drop_columns("line_id"))
    new_n = records_n - known_n
    return LoadedBatch(new_n, made.num_rows - new_n - len(conflicts), conflicts)


def _see(con: Connection, made: pa.Table) -> None:
    con.unregister("made")
    con.register("made", made)


def _without(rows: pa.Table, lines: Sequence[int]) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows["line_id"], pa.array(lines, pa.int64())))) if lines else rows


def _conflicts(con: Connection) -> tuple[list[int], list[Rejected]]:
    """Return the lines whose record_id belongs to a record of other content; the order of keys does not count."""
    claims = con.execute(sql("claims")).fetchall()
    rows = [row for row in claims if _content(row[5]) != _content(row[6])]
    reason = "another record with other content has the same record_id"
    return [row[0] for row in rows], [
        rejection(path, number, offset, reason, record.encode()) for _, path, number, offset, record, *_ in rows
    ]


def _content(record: str) -> bytes:
    try:
        return canonical(msgspec.json.decode(record))
    except (msgspec.MsgspecError, ValueError, RecursionError):  # valid JSON, but of values that nothing here can hold
        return record.encode()


def load_runs(con: Connection, batch: Batch) -> None:
    """Write the content of run.json files; `forget` has removed their earlier rows."""
    if "run_files" not in batch.rows:
        return
    for table in RUN_TABLES:
        _insert(con, table, batch.rows[table])
    stale = pa.table({"run_id": batch.rows["run_files"]["run_id"].unique()})
    _insert(con, "stale_runs", stale)


def load_decisions(con: Connection, chunks: Sequence[Chunk]) -> None:
    """Write the decisions to prune runs; `forget` has removed the earlier rows of their files."""
    rows = [
        {"path": chunk.mark.path, "run_id": chunk.pruned.run_id, "pruned_at": chunk.pruned.time}
        for chunk in chunks
        if chunk.pruned is not None
    ]
    if rows:
        _insert(con, "pruned_runs", pa.Table.from_pylist(rows))


def forget(con: Connection, paths: Sequence[str]) -> None:
    """Remove the rows of files, and the records that no other file holds."""
    if not paths:
        return
    parameters = {"paths": list(paths)}
    [(forgotten_n,)] = con.execute(sql("forgotten"), parameters).fetchall()
    con.execute(
        "INSERT INTO stale_runs (run_id) "
        "SELECT DISTINCT run_id FROM records WHERE record_id IN (SELECT record_id FROM forgotten) "
        "UNION SELECT run_id FROM run_files WHERE list_contains($paths::VARCHAR[], path)",
        parameters,
    )
    for table in ("records", *DETAILS) if forgotten_n else ():
        con.execute(f"DELETE FROM {table} WHERE record_id IN (SELECT record_id FROM forgotten)")  # noqa: S608
    for table in ("record_sources", "run_sources", *RUN_TABLES, "pruned_runs", "rejected_lines"):
        con.execute(f"DELETE FROM {table} WHERE list_contains($paths::VARCHAR[], path)", parameters)  # noqa: S608


def load_rejected(con: Connection, rejected: Sequence[Rejected]) -> None:
    """Write rejected lines with their place and reason."""
    if rejected:
        _insert(con, "rejected_lines", pa.Table.from_pylist([msgspec.structs.asdict(line) for line in rejected]))


def save_watermarks(con: Connection, chunks: Sequence[Chunk], now: datetime) -> None:
    """Write how far files were read, in the transaction of their rows."""
    marks = {chunk.mark.path: chunk.mark for chunk in chunks}
    con.execute("DELETE FROM ingested_files WHERE path IN (SELECT unnest($paths::VARCHAR[]))", {"paths": list(marks)})
    rows = [msgspec.structs.asdict(mark) | {"ingested_at": now} for mark in marks.values()]
    _insert(con, "ingested_files", pa.Table.from_pylist(rows))


def _insert(con: Connection, table: str, rows: pa.Table) -> None:
    if rows.num_rows:
        con.register("incoming", rows)
        con.execute(f"INSERT INTO {table} BY NAME FROM incoming")
        con.unregister("incoming")
