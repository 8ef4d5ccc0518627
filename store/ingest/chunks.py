"""Read and validate the new parts of source files, chunk by chunk and without the database.

The watermark of a file tells how far it was read and identifies the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa

from store.database.watermarks import JSONL, PACKED, PRUNED, RUN, Watermark
from store.errors import UsageError
from store.files import DAMAGED, unpacked
from store.importers import IMPORTERS, Imported, UnreadableLine
from store.importers.facts import facts_path
from store.ingest.decode import BadLine
from store.ingest.discover import IngestSource
from store.ingest.lines import Lines, LongLine, Ordinals, lines_from
from store.ingest.relation import (
    GIVEN_UP,
    MOST_REJECTED,
    TOO_LONG,
    Portion,
    Rejected,
    imported,
    portion,
    rejection,
    reparsed,
)
from store.ingest.run_json import ReadPruned, check_pruned, check_run_file

_TAIL_BYTES = 4096


def tail_hash(file: BinaryIO, end: int, limit: int = _TAIL_BYTES) -> str:
    """Return the hash of the last `limit` bytes before `end`."""
    start = max(0, end - limit)
    file.seek(start)
    return hashlib.blake2b(file.read(end - start), digest_size=16).hexdigest()


def modified_ns(path: Path, kind: str, stat: os.stat_result) -> int:
    """Return the time of a file; the facts about another tool's file are a part of it, so theirs is added."""
    try:
        return _signed(stat.st_mtime_ns + (facts_path(path).stat().st_mtime_ns if kind in IMPORTERS else 0))
    except OSError:  # without facts
        return _signed(stat.st_mtime_ns)


def _signed(number: int) -> int:
    """Return a number of a file system within 63 bits: a time after 2262 has more, and a hash as inode may."""
    return number % 2**63


def untouched(mark: Watermark | None, path: Path, stat: os.stat_result) -> bool:
    """Tell whether nobody has written to the file since the watermark."""
    return (
        mark is not None
        and _same_file(mark, stat)
        and mark.size_bytes == stat.st_size
        and mark.modified_ns == modified_ns(path, mark.kind, stat)
    )


def appended(mark: Watermark | None, stat: os.stat_result, file: BinaryIO) -> bool:
    """Tell whether the file still begins with the consumed bytes; a replaced, cut or edited file is read again."""
    return (
        mark is not None
        and _same_file(mark, stat)
        and stat.st_size >= mark.consumed_bytes
        and stat.st_size != mark.size_bytes
        and tail_hash(file, mark.consumed_bytes) == mark.tail_hash
    )


def _same_file(mark: Watermark, stat: os.stat_result) -> bool:
    return (mark.device, mark.inode) == (_signed(stat.st_dev), _signed(stat.st_ino))


def mark_of(path: Path, kind: str, file: BinaryIO, stat: os.stat_result, consumed: int, lines: int) -> Watermark:
    """Return the watermark after `consumed` bytes; `stat` is from before reading, so later growth is seen next time."""
    return Watermark(
        path=str(path),
        kind=kind,
        device=_signed(stat.st_dev),
        inode=_signed(stat.st_ino),
        size_bytes=stat.st_size,
        modified_ns=modified_ns(path, kind, stat),
        consumed_bytes=consumed,
        lines_n=lines,
        tail_hash=tail_hash(file, consumed, consumed if kind == RUN else _TAIL_BYTES),
        plain=kind == JSONL,
    )


class Chunk(msgspec.Struct, kw_only=True):
    """Rows of one file and the watermark behind them."""

    mark: Watermark
    lines: pa.Table | None = None
    rejected: list[Rejected] = msgspec.field(default_factory=list)
    run: str | None = None
    """The text of a run.json."""
    pruned: ReadPruned | None = None
    """The content of a pruned.json."""
    forget: bool = False
    """The earlier rows of the file are removed first, because it is another file now."""
    changed: bool = True
    """False where only the file's time changed."""

    @property
    def bytes_n(self) -> int:
        # The plan of a run takes several times its text while it is read.
        return (self.lines.nbytes if self.lines is not None else 0) + 4 * len(self.run or "")


def read_line_by_line(chunk: Chunk) -> Chunk:
    """Return a chunk whose lines were read one by one, for one that the database could not read as JSON."""
    if chunk.lines is None:
        return chunk
    part = reparsed(chunk.lines)
    return Chunk(
        mark=chunk.mark,
        lines=part.lines,
        rejected=chunk.rejected + part.rejected,
        forget=chunk.forget,
        changed=chunk.changed,
    )


class Knowledge(msgspec.Struct, frozen=True):
    """Watermarks of the files; `trusted` holds those of files that an earlier index has validated."""

    marks: Mapping[str, Watermark]
    trusted: Mapping[str, Watermark] = msgspec.field(default_factory=dict)


def is_untouched(source: IngestSource, known: Knowledge) -> bool:
    """Tell whether nobody has written to the file, or it is no longer there."""
    try:
        return untouched(known.marks.get(str(source.path)), source.path, source.path.stat())
    except FileNotFoundError:
        return True
    except OSError:  # a folder that may not be searched, a loop of links: opening it says which
        return False


def new_bytes(source: IngestSource, known: Knowledge) -> int:
    """Return about how many bytes there are to read; the index grows by no more."""
    mark = known.marks.get(str(source.path))
    try:
        size = source.path.stat().st_size
    except OSError:
        size = 0
    return size - mark.consumed_bytes if mark is not None and size >= mark.consumed_bytes else size


def read_chunks(sources: Iterable[IngestSource], known: Knowledge, unread: list[Rejected]) -> Iterator[Chunk]:
    """Yield the new chunks of each file; a file that is gone has none.

    Args:
        sources: the files.
        known: their watermarks.
        unread: list to which files are added that cannot be read, or not to their end; each ingest tries them again.
    """
    for source in sources:
        try:
            if is_untouched(source, known) or _nameless(source, unread):
                continue
            with source.path.open("rb") as file:
                yield from _of_file(source, file, known)
        except FileNotFoundError:  # removed since it was discovered
            continue
        except OSError as error:
            unread.append(rejection(str(source.path), 1, 0, f"cannot be read: {error.strerror or error}", b""))


def _nameless(source: IngestSource, unread: list[Rejected]) -> bool:
    """Tell whether the index cannot store the name of the file; if so, add it to the unread ones."""
    name = str(source.path)
    printable = name.encode("utf-8", "backslashreplace").decode()
    if printable == name:
        return False
    unread.append(rejection(printable, 1, 0, "its name is not UTF-8: rename the file", b""))
    return True


def _of_file(source: IngestSource, file: BinaryIO, known: Knowledge) -> Iterator[Chunk]:
    stat, mark = os.fstat(file.fileno()), known.marks.get(str(source.path))
    if source.kind in (RUN, PRUNED):
        yield _of_document(source, file, stat, mark)
    elif source.kind == JSONL:
        yield from _of_results(source, file, stat, known)
    elif source.kind == PACKED:
        yield from _of_packed(source, file, stat, known)
    else:
        yield from _of_import(source, file, stat, known)


def _of_document(source: IngestSource, file: BinaryIO, stat: os.stat_result, mark: Watermark | None) -> Chunk:
    """Read a run.json or a pruned.json, which is one JSON document."""
    path, data = str(source.path), file.read()
    new = mark_of(source.path, source.kind, file, stat, len(data), 1)
    changed = mark is None or mark.tail_hash != new.tail_hash
    forget = mark is not None
    try:
        if source.kind == PRUNED:
            return Chunk(mark=new, pruned=check_pruned(data), forget=forget, changed=changed)
        return Chunk(mark=new, run=check_run_file(data), forget=forget, changed=changed)
    except BadLine as error:
        return Chunk(mark=new, rejected=[rejection(path, 1, 0, str(error), data)], forget=forget, changed=changed)


def _of_results(source: IngestSource, file: BinaryIO, stat: os.stat_result, known: Knowledge) -> Iterator[Chunk]:
    """Read on from the watermark if the file was only appended to, else read all of it."""
    mark = known.marks.get(str(source.path))
    begun = mark if appended(mark, stat, file) else None
    trusted = _trusted_to(source, file, stat, known)
    consumed, number, plain = (begun.consumed_bytes, begun.lines_n, begun.plain) if begun else (0, 0, True)
    replaced = mark is not None and begun is None
    new = msgspec.structs.replace(mark_of(source.path, source.kind, file, stat, consumed, number), plain=plain)
    reader = _LineReader(str(source.path), Ordinals(source.path, consumed))
    file.seek(consumed)
    waiting: Chunk | None = None
    for lines in lines_from(file, consumed, number + 1):
        if waiting:
            yield waiting
        part = reader.portion(lines, trusted=lines.end <= trusted)
        place = file.tell()
        new = mark_of(source.path, source.kind, file, stat, lines.end, _last_number(lines))
        file.seek(place)
        plain = plain and part.plain
        new = msgspec.structs.replace(new, plain=plain)
        waiting = Chunk(mark=new.midway(), lines=part.lines, rejected=part.rejected, forget=replaced)
        replaced = False
    if waiting:
        waiting.mark = new
        yield waiting
    else:
        yield Chunk(mark=new, forget=replaced, changed=replaced)


def _trusted_to(source: IngestSource, file: BinaryIO, stat: os.stat_result, known: Knowledge) -> int:
    """Return how many bytes of the file an earlier index validated."""
    mark = known.trusted.get(str(source.path))
    if mark is None or not mark.plain or not untouched(mark, source.path, stat):
        return 0
    return mark.consumed_bytes if tail_hash(file, mark.consumed_bytes) == mark.tail_hash else 0


def _of_packed(source: IngestSource, file: BinaryIO, stat: os.stat_result, known: Knowledge) -> Iterator[Chunk]:
    """Read a compressed file from its beginning, because no reader can continue in its middle."""
    path, number = str(source.path), 0
    bad: list[Rejected] = []
    mark = mark_of(source.path, source.kind, file, stat, stat.st_size, 0)
    file.seek(0)
    reader, forget = _LineReader(path, Ordinals(source.path, 0)), path in known.marks
    try:
        for lines in lines_from(unpacked(source.path, file), 0, 1, finished=True):
            part = reader.portion(lines, trusted=False)
            number = _last_number(lines)
            yield Chunk(mark=mark.midway(), lines=part.lines, rejected=part.rejected, forget=forget)
            forget = False
            if reader.has_given_up:
                break
    except DAMAGED as error:
        bad.append(rejection(path, number + 1, 0, f"cannot be unpacked: {error}", b""))
    yield Chunk(mark=msgspec.structs.replace(mark, lines_n=number), rejected=bad, forget=forget)


def _of_import(source: IngestSource, file: BinaryIO, stat: os.stat_result, known: Knowledge) -> Iterator[Chunk]:
    """Read the whole of another tool's file."""
    path, number = str(source.path), 0
    mark = mark_of(source.path, source.kind, file, stat, stat.st_size, 0)
    file.seek(0)
    ordinals, forget = Ordinals(source.path, 0), path in known.marks
    records = _guarded(IMPORTERS[source.kind].records(unpacked(source.path, file), source.path))
    while True:
        part, count = imported(path, records, ordinals)
        if not count:
            break
        number += count
        yield Chunk(mark=mark.midway(), lines=part.lines, rejected=part.rejected, forget=forget)
        forget = False
    yield Chunk(mark=msgspec.structs.replace(mark, lines_n=number), forget=forget)


def _guarded(records: Iterator[Imported | UnreadableLine]) -> Iterator[Imported | UnreadableLine]:
    """Yield the records of an importer; an error ends the file with a rejected line, and other files are still read."""
    line_number, bad_n = 1, 0
    try:
        for record in records:
            yield record
            line_number, bad_n = record.line_number, bad_n + isinstance(record, UnreadableLine)
            if bad_n == MOST_REJECTED:
                yield UnreadableLine(line_number + 1, 0, GIVEN_UP)
                return
    except UsageError as error:
        yield UnreadableLine(line_number, 0, str(error))
    except DAMAGED as error:
        yield UnreadableLine(line_number, 0, f"cannot be unpacked: {error}")
    except Exception as error:  # noqa: BLE001 (what a damaged file does to the library that reads it has no bounds)
        yield UnreadableLine(line_number, 0, f"cannot be read further: {error!r}")


class _LineReader:
    """Validates the lines of a file, until too many of them were rejected."""

    def __init__(self, path: str, ordinals: Ordinals) -> None:
        self._path, self._ordinals = path, ordinals
        self._rejected_n = 0

    @property
    def has_given_up(self) -> bool:
        return self._rejected_n > MOST_REJECTED

    def portion(self, lines: Lines | LongLine, *, trusted: bool) -> Portion:
        """Return the validated lines; none after too many lines were rejected."""
        if self.has_given_up:
            return Portion(None, [], plain=False)
        if isinstance(lines, Lines):
            most = MOST_REJECTED - self._rejected_n
            part = portion(self._path, lines, self._ordinals, trusted=trusted, most_rejected=most)
        else:
            reason = TOO_LONG if self._rejected_n < MOST_REJECTED else GIVEN_UP
            rejected = Rejected(self._path, lines.number, lines.offset, reason, lines.sha256)
            part = Portion(None, [rejected], plain=False)
        self._rejected_n += len(part.rejected)
        return part


def _last_number(lines: Lines | LongLine) -> int:
    return lines.next_number - 1 if isinstance(lines, Lines) else lines.number
