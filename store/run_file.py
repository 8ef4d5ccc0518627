"""Write and read what a run folder holds: run.json, and the records of results.jsonl for resuming."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from store.errors import RunFileError
from store.folder import write_whole
from store.record import Record, RunFile

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

RUN_FILE = "run.json"
RESULTS = "results.jsonl"


class BadRecord(msgspec.Struct, frozen=True):
    """A whole line that is no record; `line_number` counts from 1."""

    line_number: int
    reason: str


def write_run_file(folder: str | os.PathLike[str], run_file: RunFile) -> Path:
    """Write run.json as a whole and put it on disk; returns its path."""
    path = Path(folder) / RUN_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, msgspec.json.format(msgspec.json.encode(run_file), indent=1) + b"\n")
    return path


def read_run_file(folder: str | os.PathLike[str]) -> RunFile:
    """Return the run.json of a run folder.

    Raises:
        RunFileError: it is missing or cannot be read.
    """
    path = Path(folder) / RUN_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunFile)
    except FileNotFoundError:
        raise RunFileError(f"{path} does not exist. Name a folder that `xlabench run` made.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunFileError(f"{path} cannot be read: {error}. Restore it, or start a new run.") from None


def read_records(path: str | os.PathLike[str], bad: list[BadRecord] | None = None) -> Iterator[Record]:
    """Yield the records of a results.jsonl; none where there is no file.

    An unterminated last line is still being written, or was torn by a kill, and is left out. Other lines that are no
    record of this schema are appended to `bad`.
    """
    decoder = msgspec.json.Decoder(Record)
    try:
        file = Path(path).open("rb")  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if bad is not None:
                    bad.append(BadRecord(number, str(error)))
                continue
            yield record
