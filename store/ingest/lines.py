"""Read whole lines from an offset, a block at a time, and compute the ids that lines of the peer lack.

A line of any length costs bounded memory. Equal foreign records are counted, so that two in a file stay two.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from store.identity import digest, variant
from store.ingest.decode import BadLine, DecodedLine, ReadExperiment, ReadRecord, decode
from store.record import ExperimentConfig
from store.record.experiment import TESTS

_NO_IDENTITY = {"experiment_name", "accelerator_model"}
"""`experiment_name` is a constant; the accelerator model belongs to the run."""


def foreign_run_id(record: ReadRecord) -> str:
    """Return the id of the run: as in the peer's aggregator, one timestamp on one accelerator model is one run."""
    return _run_of(record.experiment.accelerator_model, record.timestamp)


@lru_cache
def _run_of(accelerator_model: str | None, timestamp: float) -> str:
    return "peer-" + digest([accelerator_model, timestamp])


def foreign_run_label(record: ReadRecord) -> str:
    """Name the run by its accelerator."""
    return (record.experiment.accelerator_model or record.experiment.accelerator).strip(" ,.")


def foreign_experiment_id(raw: dict[str, Any]) -> str:
    """Identify what was measured by the model and every setting that the peer wrote."""
    settings = {key: value for key, value in raw["experiment"].items() if key not in _NO_IDENTITY and value is not None}
    return digest([raw["model"], settings])


def foreign_record_id(content: str, ordinal: int) -> str:
    """Identify a record by its content and by how many equal records precede it in its file."""
    return digest([content, ordinal])


def foreign_variant(experiment: ReadExperiment) -> str:
    """Name the variant from the settings that the peer records; a setting that it omits has its default."""
    return variant(
        ExperimentConfig(
            suite_name="",
            model_name="",
            test=TESTS[experiment.test],
            accelerator=experiment.accelerator,  # type: ignore[arg-type]
            xla=experiment.xla,
            dynamo=experiment.dynamo,
            xla_flags=(experiment.xla_flags,) if experiment.xla_flags else (),
            torch_xla2=str(experiment.torch_xla2) if experiment.torch_xla2 else None,
            enable_functionalization=experiment.enable_functionalization is not False,
        )
    )


def is_foreign(line: DecodedLine) -> bool:
    """Tell whether the line is a record of the peer's runner, which has no record_id."""
    return line.record.record_id is None


def content_of(line: DecodedLine) -> str:
    """Return the hash of the whole object, whatever the order of its keys."""
    return digest(line.raw)


class Ordinals:
    """Counts equal records of a file; it reads the consumed part of the file only when the first count is needed."""

    def __init__(self, path: Path, consumed: int) -> None:
        self._path = path
        self._consumed = consumed
        self._counts: Counter[str] | None = None

    def take(self, content: str) -> int:
        """Return the ordinal of the next record of this content, from 0."""
        if self._counts is None:
            self._counts = self._before()
        self._counts[content] += 1
        return self._counts[content] - 1

    def _before(self) -> Counter[str]:
        if not self._consumed:
            return Counter()
        with self._path.open("rb") as file:
            return _count(file, self._consumed)


def _count(file: BinaryIO, end: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for lines in lines_from(file, 0, 1):
        if lines.offset >= end:
            break
        if isinstance(lines, Lines):
            counts.update(_contents(lines, end))
    return counts


def _contents(lines: Lines, end: int) -> list[str]:
    contents = []
    for start, behind in zip(lines.starts, lines.ends, strict=True):
        if lines.offset + start >= end:
            break
        try:
            line = decode(lines.data[start:behind].rstrip(b"\r\n"))
        except BadLine:
            continue
        if is_foreign(line):
            contents.append(content_of(line))
    return contents


BLOCK_BYTES = 2**23
MAX_LINE_BYTES = 2**24
"""A longer line is no record; the longest real ones, with hundreds of thousands of blocks, are shorter."""


class Lines(NamedTuple):
    """Complete lines of a file; `data` ends with the last one."""

    number: int
    """Number of the first line, from 1."""
    offset: int
    """Offset of the first line's first byte."""
    data: bytes
    ends: npt.NDArray[np.int64]
    """Offsets in `data` behind each line's newline."""

    @property
    def end(self) -> int:
        return self.offset + len(self.data)

    @property
    def next_number(self) -> int:
        return self.number + len(self.ends)

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        return np.concatenate((np.zeros(1, np.int64), self.ends[:-1]))


class LongLine(NamedTuple):
    """A line that is too long to be a record; only its hash is kept."""

    number: int
    offset: int
    end: int
    sha256: str


def lines_from(file: BinaryIO, offset: int, number: int, *, finished: bool = False) -> Iterator[Lines | LongLine]:
    """Yield the lines from an offset, at which the file is positioned.

    An unterminated last line is left for later, unless the file is `finished`: nobody appends to a compressed one.
    """
    # Of a damaged file `read1` returns what comes before the damage, which `read` would lose with the error.
    read = cast("BufferedReader", file).read1 if finished else file.read
    blocks = iter(partial(read, BLOCK_BYTES), b"")
    begun = b""
    while block := next(blocks, b""):
        end = block.rfind(b"\n") + 1
        if end:
            lines = _lines(b"".join((begun, memoryview(block)[:end])), offset, number)
            yield lines
            offset, number, begun = lines.end, lines.next_number, block[end:]
            continue
        begun += block
        if len(begun) > MAX_LINE_BYTES:
            long, tail = _past(blocks, begun, offset, number, finished=finished)
            if long is None:
                return
            yield long
            offset, number, begun = long.end, number + 1, b""
            blocks = chain([tail] if tail else [], blocks)
    if begun and finished:
        yield _lines(begun + b"\n", offset, number)


def _lines(data: bytes, offset: int, number: int) -> Lines:
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")).astype(np.int64) + 1
    return Lines(number, offset, data, ends)


def _past(
    blocks: Iterator[bytes], begun: bytes, offset: int, number: int, *, finished: bool
) -> tuple[LongLine | None, bytes]:
    """Read to the end of a line that began with `begun`; return None for the line if its end is not written yet."""
    sha, length = hashlib.sha256(begun), len(begun)
    for block in blocks:
        part, newline, tail = block.partition(b"\n")
        sha.update(part)
        length += len(part) + len(newline)
        if newline:
            return LongLine(number, offset, offset + length, sha.hexdigest()), tail
    return (LongLine(number, offset, offset + length, sha.hexdigest()) if finished else None), b""
