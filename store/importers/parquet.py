"""Our own Parquet files, as `xlabench export` writes them: the whole record stands in one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from store.importers.base import Imported, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMN = "record"
_BATCH_ROWS = 5000


class Parquet:
    """One record per row, as the line that it was; `source` is the record's own."""

    name = "parquet"
    suffixes: tuple[str, ...] = (".parquet",)

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        return head.startswith(b"PAR1")

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | Unreadable]:  # noqa: ARG002
        try:
            opened = pq.ParquetFile(file)
        except (pa.ArrowException, OSError) as error:
            yield Unreadable(1, 0, f"not Parquet, or not whole: {error}")
            return
        if COLUMN not in opened.schema_arrow.names:
            yield Unreadable(
                1, 0, "no column `record`: not one of ours. Export with `xlabench export --format parquet`."
            )
            return
        number = 0
        for batch in opened.iter_batches(_BATCH_ROWS, columns=[COLUMN]):
            for line in batch.column(0).to_pylist():
                yield _row(number, line)
                number += 1


def _row(number: int, line: object) -> Imported | Unreadable:
    try:
        value = msgspec.json.decode(line) if isinstance(line, str) else None
    except msgspec.DecodeError as error:
        return Unreadable(number + 1, number, f"not JSON: {error}")
    if not isinstance(value, dict):
        return Unreadable(number + 1, number, "`record` is no JSON object")
    return Imported(number + 1, number, value)
