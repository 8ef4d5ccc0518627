"""The relation `lines` that the SQL of `store/load` reads: validated lines as Arrow, with their place and notes.

Lines of ours are validated straight from their bytes by the strict part of what `store.ingest.decode` accepts: every
value that the SQL reads has its type then. Any other line goes through `decode`, which reports what is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from store.importers import Imported, UnreadableLine
from store.ingest import lines
from store.ingest.decode import (
    EARLIEST_S,
    LATEST_S,
    NUMERIC_METRICS,
    BadLine,
    DecodedLine,
    ReadEnvironment,
    ReadExperiment,
    ReadMetrics,
    ReadRecord,
    ReadRun,
    decode,
)
from store.ingest.kept import kept_text
from store.ingest.lines import MAX_LINE_BYTES, Lines, Ordinals, content_of, is_foreign

Row = dict[str, Any]


def irregular_row(data: bytes, ordinals: Ordinals | None) -> Row:
    """Return the row of a line in the relation `lines`; `ordinals` is needed for a foreign line only.

    Raises:
        BadLine: it is no record.
    """
    line = decode(data)
    try:
        text = msgspec.json.encode(_with_lists(line.known)).decode()
        raw = msgspec.json.encode(line.raw) if line.notes else data
        content = content_of(line) if is_foreign(line) else None
    except (OverflowError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise BadLine(f"a value is out of range: {error}") from None
    row: Row = {"line": text, "raw": raw.decode(), "notes": line.notes}
    if content is None or ordinals is None:
        return row
    kept = kept_text(raw, line.raw).decode()
    return row | {"raw": kept, "identity": _identity(line, content, ordinals.take(content))}


def _identity(line: DecodedLine, content: str, ordinal: int) -> Row:
    measured = {"model": line.raw["model"], "experiment": line.raw["experiment"]}
    experiment_id, variant = _of_experiment(msgspec.json.encode(measured))
    return {
        "record_id": lines.foreign_record_id(content, ordinal),
        "run_id": lines.foreign_run_id(line.record),
        "run_label": lines.foreign_run_label(line.record),
        "experiment_id": experiment_id,
        "variant": variant,
    }


@lru_cache(maxsize=2**14)
def _of_experiment(measured: bytes) -> tuple[str, str]:
    """Return the experiment_id and the variant of a foreign record from its model and experiment, which lines share."""
    raw = msgspec.json.decode(measured)
    experiment = msgspec.convert(raw["experiment"], ReadExperiment)
    return lines.foreign_experiment_id(raw), lines.foreign_variant(experiment)


def _with_lists(known: Row) -> Row:
    """Return the record with each numeric metric as a list: a bare number counts as one entry."""
    metrics = known.get("metrics") or {}
    bare = {name: [value] for name, value in metrics.items() if isinstance(value, _NUMBER) and name in NUMERIC_METRICS}
    return known | {"metrics": metrics | bare} if bare else known


_NUMBER = (int, float)
_Seconds = Annotated[float, msgspec.Meta(ge=EARLIEST_S, le=LATEST_S)]


class OwnExperiment(ReadExperiment, kw_only=True, gc=False):
    """`experiment` of a record of ours."""

    test: Literal["eval", "train", "inference", "training"]
    torch_xla2: str | None = None


class OwnRecord(ReadRecord, kw_only=True, gc=False):
    """A record with the identity that ours have."""

    record_id: str
    experiment_id: str
    run: ReadRun
    status: str
    environment: ReadEnvironment
    experiment: OwnExperiment
    timestamp: _Seconds
    finished_at: _Seconds | None = None
    metrics: ReadMetrics | None = None


_decoder = msgspec.json.Decoder(OwnRecord)
_REFUSED = (UnicodeDecodeError, msgspec.DecodeError, RecursionError)


def all_own(data: bytes, count: int) -> bool:
    """Tell whether these are `count` lines, each a record of ours in standard JSON."""
    try:
        data.decode("utf-8")
        lines = data.splitlines()
        for line in lines:  # one by one: keeping the decoded records would take four times as long
            _decoder.decode(line)
    except _REFUSED:
        return False
    return len(lines) == count


def is_own(line: bytes) -> bool:
    """Tell whether a line is a record of ours in standard JSON."""
    try:
        line.decode("utf-8")
        _decoder.decode(line)
    except _REFUSED:
        return False
    return True


IDENTITY = pa.struct([(name, pa.string()) for name in ("record_id", "run_id", "run_label", "experiment_id", "variant")])
SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("line_number", pa.int64()),
        ("byte_offset", pa.int64()),
        ("line", pa.string()),
        ("raw", pa.string()),
        ("identity", IDENTITY),
        ("notes", pa.list_(pa.string())),
    ]
)
_REASON_CHARS = 500
_IMPORT_ROWS = 2000
_IMPORT_BYTES = 2**24
MOST_REJECTED = 100_000
"""Bad lines of a file: each costs memory, and a small file may consist of any number of them."""
GIVEN_UP = f"not read from here on: {MOST_REJECTED:,} lines before it were rejected"
TOO_LONG = f"longer than {MAX_LINE_BYTES // 2**20} MiB"


class Rejected(msgspec.Struct, frozen=True):
    """A line that is no record; `line_number` counts from 1."""

    path: str
    line_number: int
    byte_offset: int
    reason: str
    sha256: str


class Portion(msgspec.Struct):
    """A part of a file: its valid and its rejected lines."""

    lines: pa.Table | None
    rejected: list[Rejected]
    plain: bool


def portion(path: str, lines: Lines, ordinals: Ordinals, *, trusted: bool, most_rejected: int | None = None) -> Portion:
    """Return validated lines.

    Args:
        path: of the file.
        lines: lines of the file.
        ordinals: counts equal foreign records.
        trusted: they were validated before.
        most_rejected: number of bad lines after which the others are not read, which a last rejection says; None: all
            are read.
    """
    if trusted or (b"\r" not in lines.data and _short(lines) and all_own(lines.data, len(lines.ends))):
        return Portion(_bulk(path, lines), [], plain=True)
    return _line_by_line(path, _split(lines), ordinals, most_rejected)


def imported(path: str, records: Iterator[Imported | UnreadableLine], ordinals: Ordinals) -> tuple[Portion, int]:
    """Return the next records of an importer, and how many lines they were, including the unreadable ones.

    The memory that one call takes is bounded, whatever the sizes of the records.
    """
    good: list[tuple[int, int, bytes]] = []
    bad: list[Rejected] = []
    count = bytes_n = 0
    while count < _IMPORT_ROWS and bytes_n < _IMPORT_BYTES and (record := next(records, None)) is not None:
        number, offset, content = record
        count += 1
        if isinstance(content, str):
            bad.append(rejection(path, number, offset, content, b""))
            continue
        try:
            good.append((number, offset, msgspec.json.encode(content)))
            bytes_n += len(good[-1][2])
        except (ValueError, RecursionError) as error:
            bad.append(rejection(path, number, offset, f"a value cannot be written as JSON: {error}", b""))
    part = _line_by_line(path, good, ordinals)
    rejected = sorted(bad + part.rejected, key=lambda line: line.line_number)
    return Portion(part.lines, rejected, plain=False), count


def reparsed(lines: pa.Table) -> Portion:
    """Decode each line by itself; a line that the database did not accept is rejected or rewritten as standard JSON."""
    good: list[dict[str, Any]] = []
    bad: list[Rejected] = []
    for row in lines.to_pylist():
        data = row["line"].encode()
        try:
            good.append(row if row["raw"] is not None else row | irregular_row(data, None))
        except BadLine as error:
            bad.append(rejection(row["path"], row["line_number"], row["byte_offset"], str(error), data))
    return Portion(pa.Table.from_pylist(good, schema=SCHEMA), bad, plain=False)


def rejection(path: str, number: int, offset: int, reason: str, data: bytes) -> Rejected:
    """Return a rejected line with its hash; the reason may quote any bytes of the line."""
    printable = reason.encode("utf-8", "backslashreplace").decode()[:_REASON_CHARS]
    return Rejected(path, number, offset, printable, hashlib.sha256(data).hexdigest())


def _short(lines: Lines) -> bool:
    return len(lines.data) <= MAX_LINE_BYTES or bool(np.max(lines.ends - lines.starts) <= MAX_LINE_BYTES)


def _split(lines: Lines) -> Iterator[tuple[int, int, bytes]]:
    start = 0
    # Millions of empty lines are one block: as a list, their ends would take a hundred times its memory.
    for number, end in enumerate(map(int, lines.ends), lines.number):
        yield number, lines.offset + start, lines.data[start:end].rstrip(b"\r\n")
        start = end


def _bulk(path: str, lines: Lines) -> pa.Table:
    """Return lines as Arrow without a loop over them: their text is the block without its newlines."""
    count = len(lines.ends)
    ends = lines.ends - np.arange(1, count + 1)
    cuts = np.concatenate((np.zeros(1, np.int32), ends.astype(np.int32)))
    text = lines.data.replace(b"\n", b"")
    columns: dict[str, Any] = {
        "path": pa.repeat(path, count),
        "line_number": np.arange(lines.number, lines.next_number),
        "byte_offset": lines.starts + lines.offset,
        "line": pa.StringArray.from_buffers(count, pa.py_buffer(cuts), pa.py_buffer(text)),
    }
    absent = {field.name: pa.nulls(count, field.type) for field in SCHEMA if field.name not in columns}
    return pa.table(columns | absent, schema=SCHEMA)


def _line_by_line(
    path: str, entries: Iterable[tuple[int, int, bytes]], ordinals: Ordinals, most_rejected: int | None = None
) -> Portion:
    good: list[dict[str, Any]] = []
    bad: list[Rejected] = []
    for number, offset, data in entries:
        if len(bad) == most_rejected:
            bad.append(rejection(path, number, offset, GIVEN_UP, b""))
            break
        place = {"path": path, "line_number": number, "byte_offset": offset}
        try:
            good.append(place | _row(data, ordinals))
        except BadLine as error:
            bad.append(rejection(path, number, offset, str(error), data))
        except Exception as error:  # noqa: BLE001 (whatever a line does to us, the others are read)
            bad.append(rejection(path, number, offset, f"not in a known form: {error!r}", data))
    return Portion(pa.Table.from_pylist(good, schema=SCHEMA), bad, plain=False)


def _row(data: bytes, ordinals: Ordinals) -> dict[str, Any]:
    if len(data) > MAX_LINE_BYTES:
        raise BadLine(TOO_LONG)
    if b'"record_id"' in data and is_own(data):
        return {"line": data.decode()}
    return irregular_row(data, ordinals)
