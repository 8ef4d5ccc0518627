"""Pack the results.jsonl of a run: compress it, prove that it reads back equal, and only then remove the plain file."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
import pyarrow as pa

from store.compressed import DAMAGED, unpacked
from store.database.room import full_disk_said
from store.errors import PackFailed
from store.folder import sync_folder
from store.run_file import RESULTS, Pruned, read_pruned, write_pruned
from store.writer import lock

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK_BYTES = 2**20


class Packed(msgspec.Struct, frozen=True):
    """A packed file and the SHA-256 of what it unpacks to."""

    path: Path
    sha256: str


def prune_run(folder: Path, decision: Pruned) -> int:
    """Pack the lines of a run, record the decision in its folder, and remove the plain file; return the bytes after.

    A kill at any moment leaves the plain file, or the packed one, or both, which every reader takes for one.

    Raises:
        WriterBusy: the run is being written.
        PackFailed: what was packed does not read back as what the plain file holds, or that changed meanwhile.
        NoRoom: the disk is full.
    """
    plain, before = folder / RESULTS, read_pruned(folder)
    known = before.packed if before is not None and before.run_id == decision.run_id else {}
    with full_disk_said(folder), _held(plain) as file:
        stat = os.fstat(file.fileno()) if file else None
        packed = pack(plain, file) if file and stat and stat.st_size else None
        found = {packed.path.name: packed.sha256} if packed else {}
        if not (found and found.items() <= known.items()):  # else an earlier prune was ended before it removed the file
            write_pruned(folder, msgspec.structs.replace(decision, packed=known | found))
        if file and stat:
            now = os.fstat(file.fileno())
            if (now.st_size, now.st_mtime_ns) != (stat.st_size, stat.st_mtime_ns):
                raise PackFailed(f"{plain} was changed while it was packed. It stays; repeat the command.")
            plain.unlink()
            sync_folder(folder)
    return packed.path.stat().st_size if packed else 0


@contextmanager
def _held(plain: Path) -> Iterator[BinaryIO | None]:
    """Open and lock a results.jsonl as its only writer does; None where there is none."""
    try:
        file = plain.open("rb")
    except FileNotFoundError:
        yield None
        return
    with file:
        lock(file.fileno(), plain)
        if not plain.exists() or not os.path.samestat(os.fstat(file.fileno()), plain.stat()):
            raise PackFailed(f"{plain} was replaced meanwhile. Repeat the command.")
        yield file


def pack(plain: Path, file: BinaryIO) -> Packed:
    """Write the packed form of an open results.jsonl beside it, on disk; where it is there already, only find it."""
    wanted = _digest(file)
    for target in _names(plain):
        if not target.exists():
            break
        if _content(target, target) == wanted:
            return Packed(target, wanted)
    temporary = target.with_name(f"{target.name}.tmp")
    try:
        _write(file, temporary)
        if _content(temporary, target) != wanted:
            raise PackFailed(f"{temporary} does not read back as {plain}, which stays as it is. Check disk and memory.")
        shutil.copystat(plain, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(plain.parent)
    return Packed(target, wanted)


def _names(plain: Path) -> Iterator[Path]:
    """Yield the names for a packed file: of a run that was resumed after it was packed, there is one already."""
    yield plain.with_name(f"{plain.name}.zst")
    for number in itertools.count(1):
        yield plain.with_name(f"{plain.name}.{number}.zst")


def _write(file: BinaryIO, target: Path) -> None:
    file.seek(0)
    with target.open("wb") as writer, pa.CompressedOutputStream(pa.PythonFile(writer, mode="w"), "zstd") as stream:
        while chunk := file.read(_CHUNK_BYTES):
            stream.write(chunk)
    with target.open("rb+") as written:
        os.fsync(written.fileno())


def _content(path: Path, named: Path) -> str | None:
    """Return the digest of what a packed file unpacks to, by the ending of a name; None where it is damaged."""
    try:
        with path.open("rb") as file:
            return _digest(unpacked(named, file))
    except DAMAGED:
        return None


def _digest(stream: BinaryIO) -> str:
    sha = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        sha.update(chunk)
    return sha.hexdigest()
