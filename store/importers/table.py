"""A published table of speedups per model (JSON with its baseline and origin, or a CSV), and our own Parquet files."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from store.files import TooLargeFile, most_bytes, uncompressed_path
from store.importers import facts as file_facts
from store.importers import text
from store.importers.facts import FileFacts
from store.importers.shape import UNKNOWN, Imported, Origin, Series, UnreadableLine, guarded, record
from store.record.experiment import TESTS

COLUMN = "record"
_BATCH_ROWS = 5000


# `xlabench export --format parquet` writes the whole record into one column.
class Parquet:
    """One record per row: the original line; `source` is that of the record."""

    name = "parquet"
    suffixes: tuple[str, ...] = (".parquet",)

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        return head.startswith(b"PAR1")

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:  # noqa: ARG002
        if not file.seekable():
            file = io.BytesIO(file.read())
        file.seek(0, io.SEEK_END)
        most = most_bytes(file.tell())
        try:
            has_records = COLUMN in pq.ParquetFile(file).schema_arrow.names
            # A value that many rows share is in memory once.
            opened = pq.ParquetFile(file, read_dictionary=[COLUMN] if has_records else None)
        except (pa.ArrowException, OSError) as error:
            yield UnreadableLine(1, 0, f"not Parquet, or incomplete: {error}")
            return
        if not has_records:
            yield UnreadableLine(
                1, 0, "no column `record`: not written by xlabench. Export with `xlabench export --format parquet`."
            )
            return
        number = chars_n = 0
        for batch in opened.iter_batches(_BATCH_ROWS, columns=[COLUMN]):
            for value in batch.column(0):
                line = value.as_py()
                chars_n += len(line) if isinstance(line, str) else 0
                if chars_n > most:
                    yield UnreadableLine(number + 1, number, str(TooLargeFile(most)))
                    return
                yield _row(number, line)
                number += 1


def _row(number: int, line: object) -> Imported | UnreadableLine:
    try:
        value = msgspec.json.decode(line) if isinstance(line, str) else None
    except (msgspec.DecodeError, RecursionError) as error:
        return UnreadableLine(number + 1, number, f"not JSON: {error}")
    if not isinstance(value, dict):
        return UnreadableLine(number + 1, number, "`record` is not a JSON object")
    return Imported(number + 1, number, value)


_CSV_HEAD = ["model", "speedup"]
_SECONDS = "_s"
"""Suffix of the name of a column of times."""


class SpeedupTable(msgspec.Struct, kw_only=True):
    """One published table: `speedup` has a list per model, parallel to `columns`."""

    source: str
    baseline: str
    columns: list[str]
    speedup: dict[str, list[float | None]]
    test: str = "eval"
    accelerator: str = UNKNOWN
    accelerator_model: str | None = None
    suite: str = UNKNOWN
    dtype: str | None = None
    geomean: list[float | None] | None = None
    """Published geometric means of the columns of speedups, in the order of the columns."""
    note: str | None = None


class PublishedTable:
    """One record per table, column of speedups, and model."""

    name = "table"
    suffixes: tuple[str, ...] = (".json", ".csv")

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        if head.lstrip()[:1] in (b"[", b"{"):
            return all(f'"{key}"'.encode() in head for key in ("source", "baseline", "columns", "speedup"))
        return text.headings(head)[:2] == _CSV_HEAD

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        facts = file_facts.of(path)
        counts: Counter[Series] = Counter()
        of_csv = uncompressed_path(path).suffix == ".csv"
        for entry in _of_csv(file, path, facts) if of_csv else _of_json(file):
            if isinstance(entry, UnreadableLine):
                yield entry
                continue
            number, offset, table = entry
            yield from guarded(number, offset, partial(_records, self.name, table, path, facts, counts))


class _PlacedTable(NamedTuple):
    line_number: int
    byte_offset: int
    table: SpeedupTable


def _of_json(file: BinaryIO) -> Iterator[_PlacedTable | UnreadableLine]:
    for placed in text.objects(file):
        if isinstance(placed, UnreadableLine):
            yield placed
            continue
        try:
            table = msgspec.convert(placed.value, SpeedupTable)
            _check(table)
        except (msgspec.ValidationError, ValueError) as error:
            yield UnreadableLine(
                placed.line_number, placed.byte_offset, f"table of {placed.value.get('source')}: {error}"
            )
        else:
            yield _PlacedTable(placed.line_number, placed.byte_offset, table)


def _check(table: SpeedupTable) -> None:
    if table.test not in TESTS:
        raise ValueError(f"test is {table.test!r}, not eval or train")
    wrong = [model for model, values in table.speedup.items() if len(values) != len(table.columns)]
    if wrong:
        raise ValueError(f"{wrong[0]} does not have one value for each of {', '.join(table.columns)}")


def _of_csv(file: BinaryIO, path: Path, facts: FileFacts) -> Iterator[_PlacedTable | UnreadableLine]:
    """Yield a table of one model for each row: a bad row costs no other, and the file is never held as a whole."""
    first_line = file.readline()
    header, models = text.cells(first_line), set[str]()
    for number, offset, line in text.rows(file, len(first_line)):
        if number > text.MOST_OBJECTS:
            yield text.too_many(number, offset)
            return
        try:
            model, speedup = _of_row(text.row_of(header, line))
            if model in models:
                raise text.BadRow(f"model {model} is also in an earlier line")  # noqa: TRY301 (as the other reasons)
        except text.BadRow as error:
            yield UnreadableLine(number, offset, str(error))
            continue
        models.add(model)
        table = SpeedupTable(
            source=facts.origin or uncompressed_path(path).name,
            baseline=facts.baseline or UNKNOWN,
            columns=["speedup"],
            speedup={model: [speedup]},
            test=facts.test or "eval",
        )
        yield _PlacedTable(number, offset, table)


def _of_row(row: Mapping[str, str]) -> tuple[str, float]:
    model, cell = row.get("model"), row.get("speedup", "")
    if not model:
        raise text.BadRow("no model name")
    try:
        speedup = text.number(float(cell))
    except ValueError:
        speedup = None
    if speedup is None:
        raise text.BadRow(f"speedup is {cell!r}, which is not a number")
    return model, speedup


def _records(
    source: str, table: SpeedupTable, path: Path, facts: FileFacts, counts: Counter[Series]
) -> Iterator[dict[str, Any]]:
    origin = Origin(
        source=source,
        run_key=[facts.origin or table.source, table.baseline],
        label=facts.label or facts.origin or table.source,
        started=facts.started(path),
        file=uncompressed_path(path).name,
    )
    means = iter(table.geomean or [])
    for index, column in enumerate(table.columns):
        if column.endswith(_SECONDS):
            continue
        reported = {
            "origin": facts.origin or table.source,
            "baseline": facts.baseline or table.baseline,
            "column": column,
            "geomean": next(means, None),
            "note": table.note,
        }
        for model, values in table.speedup.items():
            series = _series(table, facts, column, model)
            numbers = _numbers(table, values, index)
            if numbers:
                yield record(origin, series, numbers, ordinal=counts[series], reported=reported)
                counts[series] += 1


def _series(table: SpeedupTable, facts: FileFacts, column: str, model: str) -> Series:
    return Series(
        suite=facts.suite or table.suite,
        model=model,
        test=TESTS[facts.test or table.test],
        variant=facts.backend or (UNKNOWN if column == "speedup" else column),
        accelerator=facts.accelerator or table.accelerator,
        accelerator_model=facts.accelerator_model or table.accelerator_model,
        dtype=facts.dtype or table.dtype,
    )


def _numbers(table: SpeedupTable, values: list[float | None], index: int) -> dict[str, float]:
    """Return the speedup; if it is the only column of speedups, also the times that it was computed from."""
    speedup = text.number(values[index])
    numbers = {} if speedup is None else {"reported_speedup": speedup}
    times = {name: text.number(value) for name, value in zip(table.columns, values, strict=True) if name.endswith("_s")}
    if len(times) == len(table.columns) - 1:
        own = [value for name, value in times.items() if not name.startswith(table.baseline)]
        base = [value for name, value in times.items() if name.startswith(table.baseline)]
        by_metric = {"reported_latency_s": own, "reported_baseline_latency_s": base}
        numbers |= {name: value[0] for name, value in by_metric.items() if len(value) == 1 and value[0] is not None}
    return numbers
