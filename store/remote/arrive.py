"""Bring a folder of another host here: what is new of each file, a bounded part at a time.

What has arrived lies on this host as it lay there, so the store and the pages read it as any other folder.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from store.errors import NoSuchSource
from store.folder import write_whole
from store.identity import digest
from store.remote.shared_folder import SharedFolder, Stamp
from store.run_file import RESULTS, RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KNOWN = ".arrived"
"""File in the local folder with the size and version that each remote file had when it was last read."""
_TAIL_BYTES = 4096
_GROWS = re.compile(r"(.+\.jsonl|log)")
"""Files that are only ever written to at their ends."""
_LINES = re.compile(r".+\.jsonl(?:[.-]\d+)*(?:\.gz|\.zst)?")


def arrived(url: str, folder: Path) -> Path:
    """Bring what is new at a URL into a folder of its own in `folder`; returns what there is to ingest.

    A URL of this host (file://) is its path: nothing is copied.

    Raises:
        StoreError: as `Place.of` and `arrive`.
    """
    place = SharedFolder.of(url)
    if place.local is not None:
        return place.local
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", place.root).strip("-.")[-80:]
    into = folder / f"{readable}-{digest([url])}"
    arrive(place, into)
    alone = into / PurePosixPath(place.root).name
    return alone if alone.is_file() else into


def arrive(place: SharedFolder, into: Path) -> int:
    """Bring what is new; returns how many files were.

    Of a folder come the run folders in it and below with all of their files, and files of lines.

    Raises:
        NoSuchSource: there is nothing that could be ingested.
        RemoteFailed: the place cannot be reached; what has arrived stays, and the next call goes on.
    """
    there = _to_ingest(_safe(place.files()))
    if not there:
        raise NoSuchSource(f"{place.url} holds no {RESULTS} and no {RUN_FILE}. Name a run folder, or one of runs.")
    return _bring_new(place, there, into)


def arrive_all(place: SharedFolder, into: Path) -> int:
    """Bring what is new of every file; returns how many had something new. An empty place brings nothing.

    Raises:
        RemoteFailed: the place cannot be reached; what has arrived stays, and the next call goes on.
    """
    return _bring_new(place, _safe(place.files()), into)


def _bring_new(place: SharedFolder, there: Mapping[str, Stamp], into: Path) -> int:
    known = _known(into)
    changed = [name for name in sorted(there, key=_order) if known.get(name) != there[name]]
    for name in changed:
        _bring(place, name, there[name], into / (name or PurePosixPath(place.root).name))
        known[name] = there[name]
        write_whole(into / KNOWN, json.dumps(known).encode())
    return len(changed)


def _safe(files: Mapping[str, Stamp]) -> dict[str, Stamp]:
    """Return the files whose names stay in the folder."""
    paths = {name: PurePosixPath(name) for name in files if "\0" not in name}
    return {
        name: files[name]
        for name, path in paths.items()
        if not path.is_absolute() and ".." not in path.parts and not path.name.startswith(".")
    }


def _to_ingest(files: Mapping[str, Stamp]) -> dict[str, Stamp]:
    """Return the files of run folders, and those of lines."""
    paths = {name: PurePosixPath(name) for name in files}
    runs = {path.parent for path in paths.values() if path.name == RUN_FILE}
    return {
        name: files[name]
        for name, path in paths.items()
        if not name or not runs.isdisjoint(path.parents) or _LINES.fullmatch(path.name)
    }


def _order(name: str) -> tuple[bool, bool, str]:
    """What a run is comes before its records, these before everything else."""
    file = PurePosixPath(name).name
    return file != RUN_FILE, _LINES.fullmatch(file) is None, name


def _known(into: Path) -> dict[str, Stamp]:
    into.mkdir(parents=True, exist_ok=True)
    try:
        told = json.loads((into / KNOWN).read_bytes())
        return {name: Stamp(int(size), str(version)) for name, (size, version) in told.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _bring(place: SharedFolder, name: str, there: Stamp, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    offset = _goes_on(place, name, there, path)
    if offset is not None:
        with path.open("ab") as file:
            for data in place.chunks(name, offset):
                file.write(data)
        return
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        for data in place.chunks(name, 0):
            file.write(data)
    part.replace(path)


def _goes_on(place: SharedFolder, name: str, there: Stamp, path: Path) -> int | None:
    """Return where to read on; None where the file is another one than that which lies here."""
    if not _GROWS.fullmatch(path.name) or not path.is_file():
        return None
    here = path.stat().st_size
    if not 0 < here < there.size:
        return None
    start = max(0, here - _TAIL_BYTES)
    with path.open("rb") as file:
        file.seek(start)
        return here if place.part(name, start, here) == file.read() else None
