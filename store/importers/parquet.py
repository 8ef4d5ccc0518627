"""Our own Parquet files, as `xlabench export` writes them: the whole record stands in one column."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from store.compressed import TooLarge, most_bytes
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
        if not file.seekable():
            file = io.BytesIO(file.read())
        file.seek(0, io.SEEK_END)
        most = most_bytes(file.tell())
        try:
            ours = COLUMN in pq.ParquetFile(file).schema_arrow.names
            # One value of many rows is held once.
            opened = pq.ParquetFile(file, read_dictionary=[COLUMN] if ours else None)
        except (pa.ArrowException, OSError) as error:
            yield Unreadable(1, 0, f"not Parquet, or incomplete: {error}")
            return
        if not ours:
            yield Unreadable(
                1, 0, "no column `record`: not written by xlabench. Export with `xlabench export --format parquet`."
            )
            return
        number = given = 0
        for batch in opened.iter_batches(_BATCH_ROWS, columns=[COLUMN]):
            for value in batch.column(0):
                line = value.as_py()
                given += len(line) if isinstance(line, str) else 0
                if given > most:
                    yield Unreadable(number + 1, number, str(TooLarge(most)))
                    return
                yield _row(number, line)
                number += 1


def _row(number: int, line: object) -> Imported | Unreadable:
    try:
        value = msgspec.json.decode(line) if isinstance(line, str) else None
    except (msgspec.DecodeError, RecursionError) as error:
        return Unreadable(number + 1, number, f"not JSON: {error}")
    if not isinstance(value, dict):
        return Unreadable(number + 1, number, "`record` is not a JSON object")
    return Imported(number + 1, number, value)
