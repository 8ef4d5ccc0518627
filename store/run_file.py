"""Write and read the files of a run folder: run.json, pruned.json, and the records of results.jsonl for resuming."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from store.errors import RunFileError
from store.files import DAMAGED, is_compressed, unpacked, write_atomically
from store.record import Record, RunFile

RUN_FILE = "run.json"
RESULTS = "results.jsonl"
PRUNED_FILE = "pruned.json"
_ROTATED = re.compile(r"(?:[.-]\d+)*(?:\.gz|\.zst)?")
"""Suffixes of files that were rotated (`.1`, `-20261121`) or packed."""
LINES = re.compile(rf".+\.jsonl{_ROTATED.pattern}")
"""Name of a file of lines, also one that was rotated or packed."""
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of decoding text that is no JSON of the schema, or is nested too deep."""


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """The decision to prune a run: the index keeps its results up to then, but not their samples.

    It is stored in the run folder, because rebuilds, backups and copies use that folder.
    """

    run_id: str
    pruned_at: float
    """Time of the decision, in Unix seconds."""
    who: str
    rule: str
    """The flags that kept other runs."""
    packed: dict[str, str]
    """Files that now contain the lines of the run, each with the SHA-256 of its unpacked content."""


def write_pruned(folder: Path, pruned: Pruned) -> None:
    """Write pruned.json atomically and flush it to disk."""
    write_atomically(folder / PRUNED_FILE, msgspec.json.format(msgspec.json.encode(pruned), indent=1) + b"\n")


def read_pruned(folder: Path) -> Pruned | None:
    """Return the decision in a run folder; None if there is none, or it cannot be read."""
    try:
        return msgspec.json.decode((folder / PRUNED_FILE).read_bytes(), type=Pruned)
    except (OSError, *_UNREADABLE):
        return None


def write_run_file(folder: str | os.PathLike[str], run_file: RunFile) -> Path:
    """Write run.json atomically and flush it to disk; return its path."""
    path = Path(folder) / RUN_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(run_file), indent=1) + b"\n")
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
    except (OSError, *_UNREADABLE) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RunFileError(f"{path} cannot be read: {reason}. Restore the file, or start a new run.") from None


def record_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files with the lines of a results.jsonl: its rotated and packed files, then the file itself."""
    plain = Path(path)
    candidates = plain.parent.glob(f"{glob.escape(plain.name)}[.-]*")
    older = sorted(
        file for file in candidates if _ROTATED.fullmatch(file.name.removeprefix(plain.name)) and file.is_file()
    )
    return [*older, *([plain] if plain.is_file() else [])]


def read_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Yield the records of a results.jsonl and of its packed and rotated files; none if there is no file.

    Left out are lines that are no record of this schema, and an unterminated last line, which is still being written or
    was cut by a kill. A record in two files, as while one is being packed, is yielded once.

    Raises:
        RunFileError: a packed file is damaged.
    """
    files = record_files(path)
    record_ids: set[str] = set()
    for file in files:
        for record in _records_of(file):
            if len(files) > 1 and record.record_id:
                if record.record_id in record_ids:
                    continue
                record_ids.add(record.record_id)
            yield record


def _records_of(path: Path) -> Iterator[Record]:
    decoder = msgspec.json.Decoder(Record)
    for line in _lines(path):
        if not line.endswith(b"\n"):
            return
        try:
            record = decoder.decode(line)
        except _UNREADABLE:
            continue
        yield record


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, packed or not."""
    if not is_compressed(path):
        with path.open("rb") as file:
            yield from file
        return
    try:
        with path.open("rb") as file:
            yield from unpacked(path, file)
    except DAMAGED as error:
        raise RunFileError(f"{path} cannot be unpacked: {error}. Restore it.") from None
