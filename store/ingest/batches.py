"""Put the pieces of files into batches, each of which is one transaction."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from store.database.owner import mark_changed
from store.ingest import load
from store.ingest.ahead import ahead
from store.ingest.pieces import pieces
from store.ingest.relation import Rejected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

    from store.ingest.discover import Source
    from store.ingest.pieces import Knowledge, Piece

    Connection = duckdb.DuckDBPyConnection

BATCH_BYTES = 2**25
"""A transaction costs a write of its own, a batch memory."""
BATCH_PIECES = 1000
UNLOGGED_LINES = 245_760
"""Two whole row groups: a checkpoint writes one that is not whole, and writes it again the next time."""


class Tally(msgspec.Struct):
    """What was committed."""

    changed: set[str] = msgspec.field(default_factory=set)
    records_n: int = 0
    known_n: int = 0
    rejected: list[Rejected] = msgspec.field(default_factory=list)


def bring_in(con: Connection, sources: Iterable[Source], known: Knowledge, *, logged: bool = True) -> Tally:
    """Write what is new in the sources; a watermark stands in the transaction of its rows.

    Without a log, what is committed stays in memory until a checkpoint.
    """
    tally, unlogged_n = Tally(), 0
    load.prepare(con)
    with closing(ahead(_batches(pieces(sources, known)))) as read, closing(ahead(load.parsed(con, read))) as batches:
        for batch in batches:
            con.execute("BEGIN")
            _write(con, batch, tally)
            con.execute("COMMIT")
            unlogged_n += 0 if logged else batch.lines_n
            if unlogged_n >= UNLOGGED_LINES:
                con.execute("CHECKPOINT")
                unlogged_n = 0
    return tally


def _batches(found: Iterator[Piece]) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    bytes_n = 0
    for piece in found:
        batch.append(piece)
        bytes_n += piece.bytes_n
        if bytes_n >= BATCH_BYTES or len(batch) >= BATCH_PIECES:
            yield batch
            batch, bytes_n = [], 0
    if batch:
        yield batch


def _write(con: Connection, batch: load.Batch, tally: Tally) -> None:
    load.forget(con, [piece.mark.path for piece in batch.pieces if piece.forget])
    load.load_runs(con, batch)
    loaded = load.load_records(con, batch)
    rejected = [each for piece in batch.pieces for each in piece.rejected] + loaded.rejected
    load.load_rejected(con, rejected)
    load.save_watermarks(con, batch.pieces, datetime.now(UTC).replace(tzinfo=None))
    changed = {piece.mark.path for piece in batch.pieces if piece.changed}
    if changed:
        mark_changed(con)
    tally.changed |= changed
    tally.records_n += loaded.new_n
    tally.known_n += loaded.known_n
    tally.rejected += rejected
