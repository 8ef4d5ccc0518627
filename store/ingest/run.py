"""The ingest: load the new parts of files in batches, then publish a snapshot if anything changed; and a follower."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from store.database import snapshot
from store.database.owner import ROW_GROUP_LINES, Index, mark_changed, owner
from store.database.snapshot import Connection
from store.database.watermarks import watermarks
from store.ingest import load, parse
from store.ingest.chunks import Chunk, Knowledge, is_untouched, new_bytes, read_chunks
from store.ingest.discover import UNKNOWN, IngestSource, discover
from store.ingest.relation import Rejected

BATCH_BYTES = 2**25
"""Bytes of a batch: fewer cost more transactions, more cost memory and, at the end, time in which nothing is read."""
BATCH_PIECES = 1000
TRANSACTION_LINES = ROW_GROUP_LINES
"""Lines, or entries of plans, after which a transaction ends: DuckDB writes a full row group to disk, without its log.

What a transaction holds beyond that waits in memory, uncompressed, until it ends.
"""


class IngestTally(msgspec.Struct):
    """What the ingest committed so far."""

    changed: set[str] = msgspec.field(default_factory=set)
    records_n: int = 0
    known_n: int = 0
    rejected: list[Rejected] = msgspec.field(default_factory=list)


def bring_in(con: Connection, sources: Iterable[IngestSource], known: Knowledge) -> IngestTally:
    """Write the new parts of the sources; each watermark is written in the transaction of its rows."""
    tally = IngestTally()
    with (
        load.settings(con),
        closing(parse.parsed(con, _batches(read_chunks(sources, known, tally.rejected)))) as batches,
    ):
        open_n, known_hashes = 0, load.KnownHashes(con)
        for batch in batches:
            if not open_n:
                con.execute("BEGIN")
            _write(con, batch, tally, known_hashes)
            open_n += max(1, batch.lines_n + batch.entries_n)
            if open_n >= TRANSACTION_LINES:
                con.execute("COMMIT")
                open_n = 0
        if open_n:
            con.execute("COMMIT")
    return tally


def _batches(stream: Iterator[Chunk]) -> Iterator[list[Chunk]]:
    batch: list[Chunk] = []
    bytes_n = 0
    for chunk in stream:
        batch.append(chunk)
        bytes_n += chunk.bytes_n
        if bytes_n >= BATCH_BYTES or len(batch) >= BATCH_PIECES:
            yield batch
            batch, bytes_n = [], 0
    if batch:
        yield batch


def _write(con: Connection, batch: parse.Batch, tally: IngestTally, known_hashes: load.KnownHashes) -> None:
    load.forget(con, [chunk.mark.path for chunk in batch.chunks if chunk.forget])
    load.load_runs(con, batch)
    load.load_decisions(con, batch.chunks)
    loaded = load.load_records(con, batch, known_hashes)
    rejected = [line for chunk in batch.chunks for line in chunk.rejected] + loaded.rejected
    load.load_rejected(con, rejected)
    load.save_watermarks(con, batch.chunks, datetime.now(UTC).replace(tzinfo=None))
    changed = {chunk.mark.path for chunk in batch.chunks if chunk.changed}
    if changed:
        mark_changed(con)
    tally.changed |= changed
    tally.records_n += loaded.new_n
    tally.known_n += loaded.known_n
    tally.rejected += rejected


class PendingLine(NamedTuple):
    """An unterminated last line, which an ingest after its end was written reads; `line_number` counts from 1."""

    path: str
    line_number: int
    byte_offset: int


class IngestReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an ingest; `snapshot` is the one that readers see now, None if nothing was ever ingested."""

    files_n: int
    changed_files_n: int
    records_n: int
    """New records."""
    known_n: int
    """Records read that the index already had."""
    rejected: list[Rejected]
    pending: list[PendingLine]
    """Last lines that do not end in a newline: their writer has not written them to their end yet, or was killed."""
    passed_over: list[str] = msgspec.field(default_factory=list)
    """Files of folders that have the suffix of another tool's files and are of no known format."""
    snapshot: Path | None
    published: bool

    @property
    def exit_code(self) -> int:
        """3 if a line was rejected or left for later, else 0."""
        return 3 if self.rejected or self.pending else 0


def ingest(
    paths: Iterable[str | os.PathLike[str]],
    store_dir: str | os.PathLike[str],
    *,
    rebuild: bool = False,
    wait_s: float = 600.0,
) -> IngestReport:
    """Bring the index up to date with the files under `paths` and publish a snapshot if anything changed.

    Repeating it adds nothing. Only one process writes the index: a second ingest waits up to `wait_s` seconds.

    Args:
        paths: run folders, JSONL files, files of other tools, patterns, or folders of them.
        store_dir: folder of the index; created if need be.
        rebuild: start from an empty index, from `paths` and every file that the old one knew and that still exists.
        wait_s: how long to wait for another ingest.

    Raises:
        NoSuchSource: a path does not exist.
        OwnerBusy: another ingest held the index for longer than `wait_s`.
        StorageError: the index belongs to a later version.
    """
    sources = discover([Path(path) for path in paths])
    folder = Path(store_dir)
    before = snapshot.current(folder)
    with owner(folder, rebuild=rebuild, wait_s=wait_s) as index:
        if index.before:
            known_files = [path for name in index.before if (path := Path(name)).is_file()]
            sources = discover([*(source.path for source in sources), *known_files])
        readable = [source for source in sources if source.kind != UNKNOWN]
        tally, pending = _bring_in(index, folder, readable)
    return IngestReport(
        files_n=len(readable),
        changed_files_n=len(tally.changed),
        records_n=tally.records_n,
        known_n=tally.known_n,
        rejected=tally.rejected,
        pending=pending,
        passed_over=[str(source.path) for source in sources if source.kind == UNKNOWN],
        snapshot=snapshot.current(folder),
        published=snapshot.current(folder) != before,
    )


def _bring_in(index: Index, folder: Path, sources: Sequence[IngestSource]) -> tuple[IngestTally, list[PendingLine]]:
    """Write the new parts; return what was committed, and the last lines that are still being written."""
    known = Knowledge(watermarks(index.con), index.before)
    touched = [source for source in sources if not is_untouched(source, known)]
    snapshot.require_room(folder, sum(new_bytes(source, known) for source in touched))
    tally = bring_in(index.con, touched, known) if touched else IngestTally()
    marks = watermarks(index.con)
    read = [marks[path] for source in sources if (path := str(source.path)) in marks]
    return tally, [
        PendingLine(mark.path, mark.lines_n + 1, mark.consumed_bytes)
        for mark in read
        if mark.consumed_bytes < mark.size_bytes
    ]


# Ingest during a run: often enough to watch it, rarely enough to cost little.
PUBLISH_EVERY_S = 5.0
_SHARE = 10.0
"""The time from one ingest to the next is at least ten times as long as an ingest takes."""


@dataclass
class Follower:
    """Ingests `source` into `store_dir` after new records, but no more often than the cost of an ingest allows."""

    source: Path | Sequence[Path]
    store_dir: Path
    records_n: int = 0
    """New records so far."""
    _next: float = 0.0
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "ingest"))

    def ingest_if_due(self) -> None:
        """Ingest if enough time has passed since the last ingest; to be called after new records."""
        if time.monotonic() >= self._next:
            self.finish()

    def finish(self) -> IngestReport:
        """Ingest now."""
        began = time.monotonic()
        sources = [self.source] if isinstance(self.source, Path) else self.source
        # In the main thread DuckDB's queries swallow signals.
        report = self._thread.submit(ingest, sources, self.store_dir).result()
        self.records_n += report.records_n
        spent = time.monotonic() - began
        self._next = began + spent + max(PUBLISH_EVERY_S, _SHARE * spent)
        return report

    def wait(self) -> None:
        """Wait until the next ingest may begin."""
        time.sleep(max(0.0, self._next - time.monotonic()))
