"""Find the source files under a path: run folders, result files, or folders of them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from store.database.watermarks import JSONL, PACKED, PRUNED, RUN
from store.errors import NoSuchSource
from store.files import DAMAGED, is_compressed
from store.importers import importer_of, may_be_imported
from store.run_file import LINES, PRUNED_FILE, RESULTS, RUN_FILE

_DOCUMENTS = {RUN_FILE: RUN, PRUNED_FILE: PRUNED}
UNKNOWN = "unknown"
"""Kind of a file of a folder whose suffix is that of another tool's files, and whose content is of no known format."""
_DEPTH = 2  # home/runs/<run>


class IngestSource(NamedTuple):
    """A file to ingest.

    `kind` is 'run' for a run.json, 'pruned' for a pruned.json, 'packed' for a compressed file, the importer's name for
    other tools' files, `UNKNOWN` for files that are passed over, else 'jsonl'.
    """

    path: Path
    kind: str


def discover(paths: Iterable[Path]) -> list[IngestSource]:
    """Return the source files under the given paths, each once, run.json files first.

    A file is taken as JSONL unless it is called run.json or an importer knows it. A folder gives its own JSONL files
    and those that importers know (of a run folder only results.jsonl), and the run folders up to two levels below.
    A named file brings its rotated files along, as their records would be lost otherwise, and the decision to prune
    the samples of its run.

    Raises:
        NoSuchSource: a path does not exist, or no file fits a pattern.
    """
    sources: set[IngestSource] = set()
    for path in chain.from_iterable(map(_expanded, paths)):
        if path.is_dir():
            sources.update(_of_folder(path.resolve(), _DEPTH))
        elif not path.is_file():  # reading a pipe would wait for its writer
            raise NoSuchSource(f"{path} is not a file. Name a run folder, a JSONL file or a folder of runs.")
        else:
            sources.update(map(_of_file, _with_rotated(path.resolve())))
    return sorted(sources, key=lambda source: (source.kind != RUN, source.path))


def refuse_empty(paths: Iterable[Path]) -> None:
    """Refuse a folder that holds nothing to ingest: most likely the user meant another one.

    Raises:
        NoSuchSource: a folder holds nothing to ingest, a path does not exist, or no file fits a pattern.
    """
    for path in chain.from_iterable(map(_expanded, paths)):
        if path.is_dir() and all(source.kind == UNKNOWN for source in _of_folder(path.resolve(), _DEPTH)):
            raise NoSuchSource(
                f"{path} contains no {RUN_FILE}, no JSONL and no file of another tool, nor do its folders. "
                "Name a run folder, a result file or a folder of runs."
            )


def _expanded(path: Path) -> list[Path]:
    if path.exists():
        return [path]
    text = str(path)
    fitting = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []  # noqa: PTH207 (may be absolute)
    if not fitting:
        raise NoSuchSource(f"{path} does not exist. Name a run folder, a JSONL file or a folder of runs.")
    return [Path(name) for name in fitting]


def _with_rotated(path: Path) -> list[Path]:
    decision = path.with_name(PRUNED_FILE)
    files = [path, *([decision] if path.name.startswith(RESULTS) and decision.is_file() else [])]
    if path.suffix != ".jsonl":
        return files
    return [*files, *(file for file in path.parent.glob(f"{glob.escape(path.name)}[.-]*") if _is_lines(file))]


def _is_lines(path: Path) -> bool:
    return LINES.fullmatch(path.name) is not None and path.is_file()


def _of_file(path: Path, *, named: bool = True) -> IngestSource:
    if path.name in _DOCUMENTS:
        return IngestSource(path, _DOCUMENTS[path.name])
    lines = IngestSource(path, PACKED if is_compressed(path) else JSONL)
    try:
        importer = None if path.name.startswith(RESULTS) else importer_of(path)
    except DAMAGED:  # reading the file reports what is wrong with it
        return lines
    if importer:
        return IngestSource(path, importer.name)
    return lines if named or _is_lines(path) else IngestSource(path, UNKNOWN)


def _of_folder(folder: Path, depth: int) -> Iterator[IngestSource]:
    try:
        with os.scandir(folder) as listing:  # its entries know their kind without another system call
            entries = [Path(entry.path) if entry.is_symlink() else entry for entry in listing]
    except OSError:
        yield IngestSource(folder, JSONL)  # opening it reports why it cannot be read
        return
    files = [entry.name for entry in entries if entry.is_file()]
    if RUN_FILE in files:
        yield from (_of_file(folder / name) for name in files if name in _DOCUMENTS or _is_result_file(name))
        return
    for name in files:
        if LINES.fullmatch(name) or may_be_imported(folder / name):
            yield _of_file(folder / name, named=False)
    for entry in entries if depth else ():
        if entry.is_dir() and not entry.name.startswith("."):
            yield from _of_folder(folder / entry.name, depth - 1)


def _is_result_file(name: str) -> bool:
    return name.startswith(RESULTS) and LINES.fullmatch(name) is not None
