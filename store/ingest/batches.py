"""Put the pieces of files into batches, each of which is one transaction."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from store.database.owner import ROW_GROUP_LINES, mark_changed
from store.ingest import load
from store.ingest.pieces import pieces
from store.ingest.relation import Rejected
from store.ingest.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

    from store.ingest.discover import Source
    from store.ingest.pieces import Knowledge, Piece

    Connection = duckdb.DuckDBPyConnection

BATCH_BYTES = 2**24
"""A transaction costs a write of its own, a batch memory."""
BATCH_PIECES = 1000
TRANSACTION_LINES = 2 * ROW_GROUP_LINES
"""Two row groups: what fills one goes to disk at once, neither through the log nor through another copy.

What is left over is a row group of its own, which a checkpoint writes again and leaves a hole: fewer transactions,
a smaller file; more lines in one, more memory.
"""


class Tally(msgspec.Struct):
    """What was committed."""

    changed: set[str] = msgspec.field(default_factory=set)
    records_n: int = 0
    known_n: int = 0
    rejected: list[Rejected] = msgspec.field(default_factory=list)


def bring_in(con: Connection, sources: Iterable[Source], known: Knowledge) -> Tally:
    """Write what is new in the sources; a watermark stands in the transaction of its rows."""
    tally = Tally()
    with load.settings(con), closing(load.parsed(con, _batches(pieces(sources, known, tally.rejected)))) as batches:
        open_n, seen = 0, Seen(con)
        for batch in batches:
            if not open_n:
                con.execute("BEGIN")
            _write(con, batch, tally, seen)
            open_n += max(1, batch.lines_n)
            if open_n >= TRANSACTION_LINES:
                con.execute("COMMIT")
                open_n = 0
        if open_n:
            con.execute("COMMIT")
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


def _write(con: Connection, batch: load.Batch, tally: Tally, seen: Seen) -> None:
    load.forget(con, [piece.mark.path for piece in batch.pieces if piece.forget])
    load.load_runs(con, batch)
    load.load_decisions(con, batch.pieces)
    loaded = load.load_records(con, batch, seen)
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
