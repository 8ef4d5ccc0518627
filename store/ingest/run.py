"""The ingest: new lines of each file, in one transaction a file, then a snapshot if anything changed."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from store.database import snapshot
from store.database.owner import mark_changed, owner
from store.importers import IMPORTERS, Imported, Unreadable
from store.ingest import load
from store.ingest.decode import BadLine, decode, decoded
from store.ingest.discover import Source, discover
from store.ingest.ordinals import Ordinals
from store.ingest.report import IngestReport, Rejected
from store.ingest.rows import Rows, content_of, is_foreign, rows_of
from store.ingest.run_json import read_run_file
from store.ingest.tail import RawLine, Watermark, appended, lines_from, mark_of, untouched

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from store.database.owner import Connection

_BATCH_LINES = 5000


class _Tally(msgspec.Struct):
    """What has happened so far."""

    changed_files_n: int = 0
    records_n: int = 0
    known_n: int = 0
    rejected: list[Rejected] = msgspec.field(default_factory=list)
    pending: list[str] = msgspec.field(default_factory=list)


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
        paths: run folders, JSONL files, or folders of them.
        store_dir: folder of the index; created if need be.
        rebuild: start from an empty index, from `paths` and every file that the old one knew and that still exists.
        wait_s: how long to wait for another ingest.

    Raises:
        NoSuchSource: a path does not exist.
        OwnerBusy: another ingest held the index for longer than `wait_s`.
        StorageError: the index belongs to a later version.
    """
    sources = discover([Path(path) for path in paths])
    folder, tally = Path(store_dir), _Tally()
    before = snapshot.current(folder)
    with owner(folder, rebuild=rebuild, wait_s=wait_s) as index:
        sources = discover([*(source.path for source in sources), *index.known_files])
        marks = _watermarks(index.con)
        for source in sources:
            _ingest_file(index.con, source, marks.get(str(source.path)), tally)
    return IngestReport(
        files_n=len(sources),
        changed_files_n=tally.changed_files_n,
        records_n=tally.records_n,
        known_n=tally.known_n,
        rejected=tally.rejected,
        pending=tally.pending,
        snapshot=snapshot.current(folder),
        published=snapshot.current(folder) != before,
    )


def _watermarks(con: Connection) -> dict[str, Watermark]:
    fields = Watermark.__struct_fields__
    rows = con.execute(f"SELECT {', '.join(fields)} FROM ingested_files").fetchall()  # noqa: S608 (ours)
    return {row[0]: Watermark(**dict(zip(fields, row, strict=True))) for row in rows}


def _ingest_file(con: Connection, source: Source, mark: Watermark | None, tally: _Tally) -> None:
    try:
        file = source.path.open("rb")
    except FileNotFoundError:  # removed since it was discovered
        return
    with file:
        stat = os.fstat(file.fileno())
        new_mark = mark
        if not untouched(mark, stat):
            con.execute("BEGIN")
            try:
                if source.kind == "run":
                    new_mark = _ingest_run(con, source, file, tally)
                    changed = mark is None or mark.tail_hash != new_mark.tail_hash
                elif source.kind != "jsonl":
                    new_mark = _ingest_import(con, source, file, mark, tally)
                    changed = True  # what is said about a file may have, where its content has not
                else:
                    known = mark if appended(mark, stat, file) else None
                    if mark is not None and known is None:
                        load.forget_results(con, mark.path)
                    new_mark = _ingest_results(con, source, file, known, tally)
                    changed = known is None or known.consumed_bytes != new_mark.consumed_bytes
                load.save_watermark(con, new_mark)
                if changed:
                    mark_changed(con)
                    tally.changed_files_n += 1
                con.execute("COMMIT")
            except BaseException:
                con.execute("ROLLBACK")
                raise
    if new_mark and new_mark.consumed_bytes < new_mark.size_bytes:
        tally.pending.append(new_mark.path)


def _ingest_run(con: Connection, source: Source, file: BinaryIO, tally: _Tally) -> Watermark:
    path, stat, data = str(source.path), os.fstat(file.fileno()), file.read()
    try:
        rows = read_run_file(data, path)
    except BadLine as error:
        load.forget_run(con, path)
        _reject(con, path, [(RawLine(1, 0, len(data), data), str(error))], tally)
    else:
        load.load_run(con, rows, path)
    return mark_of(source.path, source.kind, file, stat, len(data), 1)


def _ingest_results(
    con: Connection, source: Source, file: BinaryIO, known: Watermark | None, tally: _Tally
) -> Watermark:
    """Read on from where the file is known, else the whole of it."""
    path, stat = str(source.path), os.fstat(file.fileno())
    consumed, lines_n = (known.consumed_bytes, known.lines_n) if known else (0, 0)
    ordinals = Ordinals(source.path, consumed)
    found = lines_from(file, consumed, lines_n)
    while batch := list(islice(found, _BATCH_LINES)):
        _ingest_batch(con, path, batch, ordinals, tally)
        consumed, lines_n = batch[-1].end, batch[-1].number
    return mark_of(source.path, source.kind, file, stat, consumed, lines_n)


def _ingest_import(con: Connection, source: Source, file: BinaryIO, mark: Watermark | None, tally: _Tally) -> Watermark:
    """Read the whole of another tool's file, and forget what it gave before."""
    path, stat = str(source.path), os.fstat(file.fileno())
    if mark is not None:
        load.forget_results(con, mark.path)
    found, seen, read_n = IMPORTERS[source.kind].records(file, source.path), Counter[str](), 0
    while batch := list(islice(found, _BATCH_LINES)):
        _import_batch(con, path, batch, seen, tally)
        read_n += len(batch)
    return mark_of(source.path, source.kind, file, stat, stat.st_size, read_n)


def _import_batch(
    con: Connection, path: str, batch: Sequence[Imported | Unreadable], seen: Counter[str], tally: _Tally
) -> None:
    good: list[tuple[RawLine, Rows]] = []
    bad: list[tuple[RawLine, str]] = []
    for each in batch:
        place = RawLine(each.line_number, each.byte_offset, each.byte_offset, b"")
        try:
            if isinstance(each, Unreadable):
                raise BadLine(each.reason)  # noqa: TRY301 (one way for both kinds of bad lines)
            line = decoded(each.record, [])
            content = content_of(line)
            good.append((place, rows_of(line, content, seen[content])))
            seen[content] += is_foreign(line.record)
        except (BadLine, OverflowError, ValueError, msgspec.MsgspecError) as error:
            bad.append((place, str(error)))
    _load_batch(con, path, good, bad, tally)


def _ingest_batch(con: Connection, path: str, batch: Sequence[RawLine], ordinals: Ordinals, tally: _Tally) -> None:
    good: list[tuple[RawLine, Rows]] = []
    bad: list[tuple[RawLine, str]] = []
    for raw in batch:
        try:
            good.append((raw, _rows(raw, ordinals)))
        except BadLine as error:
            bad.append((raw, str(error)))
    _load_batch(con, path, good, bad, tally)


def _load_batch(
    con: Connection,
    path: str,
    good: Sequence[tuple[RawLine, Rows]],
    bad: list[tuple[RawLine, str]],
    tally: _Tally,
) -> None:
    loaded = load.load_records(con, path, good)
    bad += [(raw, "its record_id is taken by a record of other content") for raw in loaded.conflicts]
    _reject(con, path, bad, tally)
    tally.records_n += loaded.new_n
    tally.known_n += len(good) - loaded.new_n - len(loaded.conflicts)


def _rows(raw: RawLine, ordinals: Ordinals) -> Rows:
    line = decode(raw.data)
    content = content_of(line)
    ordinal = ordinals.take(content) if is_foreign(line.record) else 0
    try:
        return rows_of(line, content, ordinal)
    except (OverflowError, ValueError, msgspec.MsgspecError) as error:
        raise BadLine(f"a value is out of range: {error}") from None


def _reject(con: Connection, path: str, bad: Sequence[tuple[RawLine, str]], tally: _Tally) -> None:
    load.load_rejected(con, path, bad)
    tally.rejected += [Rejected(path, raw.number, raw.offset, reason) for raw, reason in bad]
