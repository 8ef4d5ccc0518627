"""Parse chunks of files into rows of the base tables by the SQL in `store/load`; nothing here writes to the index.

Batches are parsed over separate connections and passed on as Arrow tables, so that the next batches are parsed while
one is written.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, TypeVar

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import inspect

from store.database.snapshot import Connection
from store.files import queries_of
from store.identity import WORKLOAD, NamedSetting
from store.ingest.chunks import Chunk, read_line_by_line
from store.ingest.decode import MOST_SMALL_INT, ReadEnvironment, ReadMetrics, ReadRecord
from store.ingest.relation import Rejected, rejection
from store.ingest.run_json import ReadRunFile
from store.metrics import SCALARS
from store.record import NEUTRAL
from store.stats.median import MIN_INTERVAL_N, lower_rank

T = TypeVar("T")
R = TypeVar("R")
W = TypeVar("W")


def ahead(items: Iterator[T], workers: Sequence[W], work: Callable[[W, T], R]) -> Generator[R]:
    """Yield the results of `work` in the order of the items.

    There is one thread per worker: the threads take items one after the other and process them concurrently.
    """
    idle: SimpleQueue[W] = SimpleQueue()
    for worker in workers:
        idle.put(worker)
    asking, numbers = Lock(), count()

    def make() -> tuple[int, R] | None:
        worker = idle.get()
        try:
            with asking:
                number, item = next(numbers), next(items, None)
            return None if item is None else (number, work(worker, item))
        finally:
            idle.put(worker)

    results: dict[int, R] = {}
    with ThreadPoolExecutor(max_workers=len(workers), thread_name_prefix="ahead") as pool:
        coming = deque(pool.submit(make) for _ in workers)
        for turn in count():
            while turn not in results:
                if not coming:
                    return
                if (numbered := coming.popleft().result()) is not None:
                    results[numbered[0]] = numbered[1]
            coming.append(pool.submit(make))
            yield results.pop(turn)


DETAILS = (
    "record_fallback_ops",
    "record_graph_breaks",
    "record_graphs",
    "record_artifacts",
    "record_findings",
    "record_metrics",
)
"""Tables besides `records` that hold rows of a record, each with a file of SQL."""
RUN_TABLES = ("run_files", "run_environments", "plan_entries")
_RANKS_N = 100
"""The ranks of the median's interval are computed beforehand for fewer samples than this."""
PARSERS = 2
# To plan a query a second time, which a lazy result does, takes longer than the copy.
warnings.filterwarnings("ignore", message="Arrow output on a DB-API result makes an extra copy")
_REFUSED = (duckdb.InvalidInputException, duckdb.DataError)
"""Errors of DuckDB for a text that it does not accept as JSON, or a value that it cannot convert."""


class Batch(msgspec.Struct):
    """Pieces and their rows by table; the rows of `made` are those of `records` with the place of each line."""

    chunks: list[Chunk]
    rows: dict[str, pa.Table] = msgspec.field(default_factory=dict)

    @property
    def lines_n(self) -> int:
        return sum(chunk.lines.num_rows for chunk in self.chunks if chunk.lines is not None)

    @property
    def entries_n(self) -> int:
        """Entries of the plans in run.json files."""
        return self.rows["plan_entries"].num_rows if "plan_entries" in self.rows else 0


@cache
def sql(name: str) -> str:
    """Return the text of a query in `store/load`.

    The structure of its type is in place of each `{ReadRecord}`, the words of each setting in place of `{workload}`,
    the columns that the registry of metrics names in place of `{scalars}`, and the variables in which two results may
    differ in place of `{neutral}`.
    """
    text = queries_of(Path(__file__).parents[1] / "load")[name]
    text = _TYPE.sub(lambda match: json.dumps(_structure(inspect.type_info(_TYPES[match[1]]))), text)
    for place, parts in _LISTS.items():
        text = text.replace(place, ", ".join(parts))
    return text


def _words(setting: NamedSetting) -> str:
    """Return the SQL of the words of a setting of `e`; NULL for its default."""
    before, is_value, _ = setting.words.partition("{}")
    if not is_value:
        return f"CASE WHEN e.{setting.name} THEN '{setting.words}' END"
    return f"'{before}' || nullif(nullif(e.{setting.name}, ''), '{setting.default or ''}')"


_NUMBER_OF = {"last": "present(m.{0})[-1] AS {0}", "largest": "list_max(m.{0}) AS {0}"}
_LISTS = {
    "{workload}": [_words(setting) for setting in WORKLOAD],
    "{scalars}": [_NUMBER_OF[kept].format(name) for name, kept in SCALARS.items()],
    "{scalar names}": [f"'{name}'" for name in SCALARS],
    "{neutral}": [f"'{NEUTRAL}'"],
}
"""Place in the SQL → the parts of its list."""

_TYPE = re.compile(r"{(Read\w+)}")
_TYPES = {kind.__name__: kind for kind in (ReadRecord, ReadMetrics, ReadRunFile, ReadEnvironment)}
_SCALARS = {inspect.StrType: "VARCHAR", inspect.FloatType: "DOUBLE", inspect.BoolType: "BOOLEAN"}


def _structure(kind: inspect.Type) -> Any:
    """Return a type as DuckDB's `from_json` wants it: what may be None by its type, and any object as JSON."""
    if isinstance(kind, inspect.StructType):
        return {field.name: _structure(field.type) for field in kind.fields}
    if isinstance(kind, inspect.ListType):
        return [_structure(kind.item_type)]
    if isinstance(kind, inspect.UnionType):
        return _structure(next(part for part in kind.types if not isinstance(part, inspect.NoneType)))
    if isinstance(kind, inspect.IntType):
        return "INTEGER" if kind.le == MOST_SMALL_INT else "BIGINT"
    return _SCALARS.get(type(kind), "JSON")


def parsed(con: Connection, batches: Iterator[list[Chunk]]) -> Generator[Batch]:
    """Parse batches, up to `PARSERS` of them ahead of the one that is yielded."""
    parsers = [_Parser(con.cursor()) for _ in range(PARSERS)]
    try:
        with closing(ahead(batches, parsers, _parse)) as ready:
            yield from ready
    finally:
        for parser in parsers:
            parser.cursor.close()


class _Parser(msgspec.Struct):
    """A connection that parses batches; it is prepared for its first one, and a small ingest has only one."""

    cursor: Connection
    is_prepared: bool = False

    def prepared(self) -> Connection:
        """Return the connection with the macros and the ranks that the queries need."""
        if not self.is_prepared:
            self.cursor.execute(sql("macros"))
            self.cursor.execute("CREATE OR REPLACE TEMP TABLE median_ranks (n BIGINT, rank BIGINT)")
            _add_ranks(self.cursor, range(MIN_INTERVAL_N, _RANKS_N))
            self.is_prepared = True
        return self.cursor


def _parse(parser: _Parser, chunks: list[Chunk]) -> Batch:
    cursor, batch = parser.prepared(), Batch(chunks)
    try:
        batch.rows |= _run_rows(cursor, batch.chunks)
    except _REFUSED:
        batch.chunks = [_with_good_run(cursor, chunk) for chunk in batch.chunks]
        batch.rows |= _run_rows(cursor, batch.chunks)
    try:
        batch.rows |= _record_rows(cursor, batch.chunks)
    except _REFUSED:
        batch.chunks = [_with_good_lines(cursor, read_line_by_line(chunk)) for chunk in batch.chunks]
        batch.rows |= _record_rows(cursor, batch.chunks)
    return batch


def _run_rows(cursor: Connection, chunks: Sequence[Chunk]) -> dict[str, pa.Table]:
    runs = [{"path": chunk.mark.path, "text": chunk.run} for chunk in chunks if chunk.run is not None]
    if not runs:
        return {}
    _over(cursor, "runs", pa.Table.from_pylist(runs), "run_texts")
    return {table: cursor.execute(sql(table)).to_arrow_table() for table in RUN_TABLES}


def _record_rows(cursor: Connection, chunks: Sequence[Chunk]) -> dict[str, pa.Table]:
    tables = [chunk.lines for chunk in chunks if chunk.lines is not None and chunk.lines.num_rows]
    if not tables:
        return {}
    lines = _lines(tables)
    made = _over(cursor, "lines", lines, "made")
    if _are_ranks_added(cursor, made):
        made = _over(cursor, "lines", lines, "made")
    given = [table for table in DETAILS if pc.any(pc.greater(pc.list_value_length(made[table]), 0)).as_py()]
    rows = {table: _over(cursor, "made", made, table) for table in given}
    return rows | {"made": _with_text(made.drop_columns(list(DETAILS)), lines)}


def _with_good_run(cursor: Connection, chunk: Chunk) -> Chunk:
    """Return the chunk, without its run.json if the database refuses it."""
    try:
        _run_rows(cursor, [chunk])
    except _REFUSED as error:
        reason = f"run.json: {_first_line(error)}"
        rejected = rejection(chunk.mark.path, 1, 0, reason, (chunk.run or "").encode())
        return msgspec.structs.replace(chunk, run=None, rejected=[*chunk.rejected, rejected])
    return chunk


def _with_good_lines(cursor: Connection, chunk: Chunk) -> Chunk:
    """Return a chunk without the lines that the database refuses."""
    if chunk.lines is None:
        return chunk
    good, refused = _sifted(cursor, chunk, chunk.lines)
    lines = pa.concat_tables([chunk.lines.slice(0, 0), *good])
    return msgspec.structs.replace(chunk, lines=lines, rejected=chunk.rejected + refused)


def _sifted(cursor: Connection, chunk: Chunk, lines: pa.Table) -> tuple[list[pa.Table], list[Rejected]]:
    """Separate lines that the database accepts from those that it refuses, by bisection."""
    try:
        _record_rows(cursor, [msgspec.structs.replace(chunk, lines=lines)])
    except _REFUSED as error:
        if lines.num_rows == 1:
            return [], [_refusal(lines, error)]
    else:
        return [lines], []
    half = lines.num_rows // 2
    first, last = (_sifted(cursor, chunk, part) for part in (lines.slice(0, half), lines.slice(half)))
    return first[0] + last[0], first[1] + last[1]


def _refusal(line: pa.Table, error: duckdb.Error) -> Rejected:
    (row,) = line.to_pylist()
    text = row["line"] if row["raw"] is None else row["raw"]
    return rejection(row["path"], row["line_number"], row["byte_offset"], _first_line(error), text.encode())


def _first_line(error: duckdb.Error) -> str:
    return str(error).partition("\n")[0]


def _with_text(rows: pa.Table, lines: pa.Table) -> pa.Table:
    """Add the text of the records from the lines, since it did not pass through the database."""
    text = lines["line"].cast(pa.string())
    if lines["raw"].null_count < len(lines):
        text = pc.coalesce(lines["raw"], text)
    order = rows["line_id"].to_numpy()
    if not np.array_equal(order, np.arange(len(lines))):
        text = text.take(pa.array(order))
    return rows.append_column("record", _as_json(text))


def _over(cursor: Connection, name: str, rows: pa.Table, query: str) -> pa.Table:
    """Return the rows of a query over Arrow rows, which it reads under the given name."""
    cursor.register(name, rows)
    try:
        return cursor.execute(sql(query)).to_arrow_table()
    finally:
        cursor.unregister(name)


def _lines(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the lines of chunks, typed as JSON so that DuckDB does not validate them again."""
    lines = pa.concat_tables(tables)
    lines = lines.set_column(lines.schema.get_field_index("line"), "line", _as_json(lines["line"]))
    return lines.append_column("line_id", pa.array(range(lines.num_rows), pa.int64()))


def _as_json(text: pa.ChunkedArray) -> pa.ChunkedArray:
    typed = pa.json_(pa.utf8())
    return pa.chunked_array([pa.ExtensionArray.from_storage(typed, chunk) for chunk in text.chunks], typed)


def _are_ranks_added(con: Connection, made: pa.Table) -> bool:
    """Add the ranks of the median's interval that records of very many samples lack; tell whether there were any."""
    many = [count for count in made["steady_n"].unique().to_pylist() if count >= _RANKS_N]
    known = {count for (count,) in con.execute("SELECT n FROM median_ranks").fetchall()} if many else set()
    lacking = [count for count in many if count not in known]
    if lacking:
        _add_ranks(con, lacking)
    return bool(lacking)


def _add_ranks(con: Connection, counts: Sequence[int]) -> None:
    ranks = {"counts": list(counts), "ranks": list(map(lower_rank, counts))}
    con.execute("INSERT INTO median_ranks SELECT unnest($counts::BIGINT[]), unnest($ranks::BIGINT[])", ranks)
