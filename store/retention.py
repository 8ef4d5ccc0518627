"""Retention: which runs lose their samples, and how their files are packed."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa

from store.database.snapshot import full_disk_as_error
from store.errors import PackFailed, RunFileError
from store.files import DAMAGED, sync_folder, unpacked
from store.query import Connection, fetch, named
from store.run_file import PRUNED_FILE, RESULTS, Pruned, read_pruned, read_run_file, write_pruned
from store.writer import lock

PAYOFF = "payoff"
"""Purpose of runs whose answer is computed from their samples each time."""


class RetentionRule(msgspec.Struct, frozen=True, kw_only=True):
    """Rule of retention: runs that any part of the rule matches keep their samples."""

    since: datetime
    """UTC: runs with a record that finished then, or later."""
    labels: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()


class IndexedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with records, as the index knows it."""

    run_id: str
    label: str
    purposes: list[str]
    finished: datetime
    records_n: int
    samples_n: int
    """Timed blocks that the index holds."""
    paths: list[str] | None
    """Files that contain its records, or contained them."""


class RunToPrune(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose samples leave the index, and whose lines are packed."""

    run: IndexedRun
    folder: Path
    bytes_n: int
    """Size of its results.jsonl."""


class RetentionChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Decision of a rule on the runs of an index."""

    to_prune: list[RunToPrune]
    kept: list[tuple[IndexedRun, str]]
    """Runs that are older than the rule allows, each with the reason why it keeps its samples."""
    young_n: int
    done_n: int
    """Number of runs that were pruned before."""


def runs(con: Connection) -> list[IndexedRun]:
    """Return the runs of a snapshot in the order in which they ended."""
    return msgspec.convert(fetch(con, named("prunable")), list[IndexedRun])


def choose(
    indexed: Sequence[IndexedRun], rule: RetentionRule, home_runs: Path, busy: Collection[Path]
) -> RetentionChoice:
    """Decide which runs are pruned.

    Files outside of `home_runs` may belong to others; `busy` are the run folders of jobs that wait or run.
    """
    choice = RetentionChoice(to_prune=[], kept=[], young_n=sum(run.finished >= rule.since for run in indexed), done_n=0)
    done_n = 0
    for run in indexed:
        if run.finished >= rule.since:
            continue
        folder = _folder(run, home_runs.resolve())
        reason = _reason_to_keep(run, rule) or (folder if isinstance(folder, str) else _in_use(folder, busy))
        if reason is not None:
            choice.kept.append((run, reason))
        elif isinstance(folder, Path):
            plain = folder / RESULTS
            if run.samples_n or plain.exists() or not (folder / PRUNED_FILE).exists():
                bytes_n = plain.stat().st_size if plain.exists() else 0
                choice.to_prune.append(RunToPrune(run=run, folder=folder, bytes_n=bytes_n))
            else:
                done_n += 1
    return msgspec.structs.replace(choice, done_n=done_n)


def _reason_to_keep(run: IndexedRun, rule: RetentionRule) -> str | None:
    if run.label in rule.labels:
        return f"label {run.label}"
    if purposes := sorted(set(run.purposes) & set(rule.purposes)):
        return f"purpose {', '.join(purposes)}"
    if PAYOFF in run.purposes:
        return "payoffs are computed from their samples"
    return None


def _folder(run: IndexedRun, home_runs: Path) -> Path | str:
    """Return the run folder that holds all records of a run, or why there is none."""
    folders = sorted({Path(path).parent for path in run.paths or ()})
    if not folders:
        return "no file contains its records"
    folder, *others = sorted(folders, key=lambda candidate: candidate.parent != home_runs)
    if others:
        return f"its records are also in {others[0]}"
    if folder.parent != home_runs or folder.is_symlink():
        return "its folder is not in the runs of this home"
    if any(not Path(path).name.startswith(RESULTS) for path in run.paths or ()) or (folder / RESULTS).is_symlink():
        return f"its records are not only in {RESULTS}"
    try:
        run_id = read_run_file(folder).run.run_id
    except RunFileError:
        return "its run.json is missing or unreadable"
    return folder if run_id == run.run_id else "its folder is that of another run"


def _in_use(folder: Path, busy: Collection[Path]) -> str | None:
    return "a job of the queue measures it" if folder in busy else None


_CHUNK_BYTES = 2**20


class Packed(msgspec.Struct, frozen=True):
    """A packed file and the SHA-256 of its unpacked content."""

    path: Path
    sha256: str


def prune_run(folder: Path, decision: Pruned) -> int:
    """Pack the lines of a run, record the decision in its folder, and remove the plain file; return the bytes after.

    A kill at any moment leaves the plain file, the packed one, or both; readers treat both as one.

    Raises:
        WriterBusy: the run is being written.
        PackFailed: the packed file does not unpack to the plain file, or the plain file changed meanwhile.
        NoRoom: the disk is full.
    """
    plain, before = folder / RESULTS, read_pruned(folder)
    repeated = before is not None and before.run_id == decision.run_id
    packed_before = before.packed if before is not None and repeated else {}
    with full_disk_as_error(folder), _locked(plain) as file:
        stat = os.fstat(file.fileno()) if file else None
        packed = pack(plain, file) if file and stat and stat.st_size else None
        packed_now = {packed.path.name: packed.sha256} if packed else {}
        if not (
            repeated and packed_now.items() <= packed_before.items()
        ):  # else an earlier prune is completed, and its decision stays
            write_pruned(folder, msgspec.structs.replace(decision, packed=packed_before | packed_now))
        if file and stat:
            now = os.fstat(file.fileno())
            if (now.st_size, now.st_mtime_ns) != (stat.st_size, stat.st_mtime_ns):
                raise PackFailed(
                    f"{plain} was changed while it was compressed, so it was left as it is. Repeat the command."
                )
            plain.unlink()
            sync_folder(folder)
    return packed.path.stat().st_size if packed else 0


@contextmanager
def _locked(plain: Path) -> Iterator[BinaryIO | None]:
    """Open and lock a results.jsonl as its writer does; yield None if there is no such file."""
    try:
        file = plain.open("rb")
    except FileNotFoundError:
        yield None
        return
    with file:
        lock(file.fileno(), plain)
        if not plain.exists() or not os.path.samestat(os.fstat(file.fileno()), plain.stat()):
            raise PackFailed(f"{plain} was replaced while it was being opened. Repeat the command.")
        yield file


def pack(plain: Path, file: BinaryIO) -> Packed:
    """Write the packed form of an open results.jsonl beside it and flush it to disk; reuse an existing equal one."""
    sha256 = _digest(file)
    for target in _names(plain):
        if not target.exists():
            break
        if _content(target, target) == sha256:
            return Packed(target, sha256)
    temporary = target.with_name(f"{target.name}.tmp")
    try:
        _write(file, temporary)
        if _content(temporary, target) != sha256:
            raise PackFailed(f"{temporary} does not read back as {plain}, which stays as it is. Check disk and memory.")
        shutil.copystat(plain, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(plain.parent)
    return Packed(target, sha256)


def _names(plain: Path) -> Iterator[Path]:
    """Yield names for a packed file; a run that was resumed after packing has one already."""
    yield plain.with_name(f"{plain.name}.zst")
    for number in itertools.count(1):
        yield plain.with_name(f"{plain.name}.{number}.zst")


def _write(file: BinaryIO, target: Path) -> None:
    file.seek(0)
    with target.open("wb") as writer, pa.CompressedOutputStream(pa.PythonFile(writer, mode="w"), "zstd") as stream:
        while chunk := file.read(_CHUNK_BYTES):
            stream.write(chunk)
    with target.open("rb+") as reopened:
        os.fsync(reopened.fileno())


def _content(path: Path, name: Path) -> str | None:
    """Return the digest of the unpacked content of a file, packed by the suffix of `name`; None if it is damaged."""
    try:
        with path.open("rb") as file:
            return _digest(unpacked(name, file))
    except DAMAGED:
        return None


def _digest(stream: BinaryIO) -> str:
    sha = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        sha.update(chunk)
    return sha.hexdigest()
