"""Find what a path holds: run folders, result files, or folders of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from store.errors import NoSuchSource
from store.importers import importer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RESULTS = "results.jsonl"
RUN_FILE = "run.json"
_DEPTH = 2  # home/runs/<run>


class Source(NamedTuple):
    """A file to ingest: `kind` is 'run' for a run.json, the importer's name for other tools' files, else 'jsonl'."""

    path: Path
    kind: str


def discover(paths: Iterable[Path]) -> list[Source]:
    """Return the source files under the given paths, each once, run.json files first.

    A file is taken as JSONL unless it is called run.json or an importer knows it. A folder gives its own JSONL files
    and those that importers know (of a run folder only results.jsonl), and the run folders up to two levels below.

    Raises:
        NoSuchSource: a path does not exist.
    """
    found: set[Source] = set()
    for path in paths:
        if path.is_dir():
            found.update(_of_folder(path.resolve(), _DEPTH))
        elif path.exists():
            found.add(_of_file(path.resolve()))
        else:
            raise NoSuchSource(f"{path} does not exist. Name a run folder, a JSONL file or a folder of runs.")
    return sorted(found, key=lambda source: (source.kind != "run", source.path))


def _of_file(path: Path) -> Source:
    if path.name == RUN_FILE:
        return Source(path, "run")
    importer = importer_of(path)
    return Source(path, importer.name if importer else "jsonl")


def _of_folder(folder: Path, depth: int) -> Iterator[Source]:
    own = [folder / RUN_FILE, folder / RESULTS]
    run_parts = [path for path in own if path.is_file()]
    yield from map(_of_file, run_parts)
    if own[0] in run_parts:
        return
    for path in folder.iterdir():
        if path.is_file() and (path.suffix == ".jsonl" or importer_of(path, named=False)):
            yield _of_file(path)
        elif depth and path.is_dir() and not path.name.startswith("."):
            yield from _of_folder(path, depth - 1)
