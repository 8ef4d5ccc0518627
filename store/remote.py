"""Folders of other hosts, on a shared disk or in an object store: written to, and brought here as they grow."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from store.errors import MissingPackage, NoSuchSource, RemoteFailed, UsageError
from store.files import write_whole
from store.identity import digest
from store.run_file import RESULTS, RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
        XlabenchError: as `Place.of` and `arrive`.
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


CHUNK_BYTES = 2**22
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_VERSIONS = ("ETag", "etag", "md5Hash", "content_hash", "mtime", "LastModified", "last_modified", "updated", "created")
"""What file systems call that which changes when a file is written; the first that one has."""


def is_url(text: str) -> bool:
    """Tell a URL from a path."""
    return _URL.match(text) is not None


class Stamp(NamedTuple):
    """What tells whether a file was written to."""

    size: int
    version: str


@dataclass(frozen=True)
class SharedFolder:
    """A folder of a file system of fsspec's; names in it are relative, with slashes."""

    fs: Any
    root: str
    url: str
    """The URL as it was given."""

    @classmethod
    def of(cls, text: str) -> SharedFolder:
        """Return the folder that a path or URL names; nothing is looked at.

        Raises:
            MissingPackage: fsspec, or what it needs for this kind of URL, is not installed.
            UsageError: it is no URL that fsspec knows.
        """
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - only where hosts share something
        except ImportError:
            raise MissingPackage("Folders of other hosts need fsspec: install the extra `cluster`.") from None
        try:
            fs, root = url_to_fs(text if is_url(text) else str(Path(text).resolve()), use_listings_cache=False)
        except ImportError as error:
            raise MissingPackage(f"{text}: {error}") from None
        except ValueError as error:
            raise UsageError(
                f"{text} cannot be used: {error}. Name a folder, or a URL as s3://bucket/folder."
            ) from None
        return cls(fs, str(root).rstrip("/"), text)

    @property
    def local(self) -> Path | None:
        """The folder as a path, where it is one of this host."""
        protocol = self.fs.protocol
        return Path(self.root) if "file" in ((protocol,) if isinstance(protocol, str) else protocol) else None

    def under(self, name: str) -> SharedFolder:
        """Return a folder in it."""
        return SharedFolder(self.fs, f"{self.root}/{name}", f"{self.url.rstrip('/')}/{name}")

    def read(self, name: str) -> bytes | None:
        """Return what a file holds; None where there is none.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._told(name):
            try:
                return bytes(self.fs.cat_file(f"{self.root}/{name}"))
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file; a reader meets the old content or the new.

        Raises:
            RemoteFailed: the place cannot be reached, or refuses.
        """
        with self._told(name):
            if self.local is not None:
                path = self.local / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, data)
            else:
                self.fs.pipe_file(f"{self.root}/{name}", data)

    def put(self, name: str, path: Path) -> None:
        """Copy a file of this host into it.

        Raises:
            RemoteFailed: the place cannot be reached, or refuses.
        """
        with self._told(name):
            if self.local is None:
                self.fs.put_file(str(path), f"{self.root}/{name}")
                return
            target = self.local / name
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.part")
            self.fs.cp_file(str(path), str(part))
            part.replace(target)

    def exists(self, name: str) -> bool:
        """Say whether there is a file.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._told(name):
            self.fs.invalidate_cache()
            return bool(self.fs.exists(f"{self.root}/{name}"))

    def files(self) -> dict[str, Stamp]:
        """Return the files in it and below, by name; its own name is empty where it is a file itself. Links are none.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._told(""):
            self.fs.invalidate_cache()
            found = self.fs.find(self.root, detail=True)
        begin = len(self.root.strip("/"))
        return {
            path.strip("/")[begin:].strip("/"): _stamp(info)
            for path, info in found.items()
            # A link on a shared disk may lead to what only this host's user may read.
            if info.get("type", "file") == "file" and not info.get("islink")
        }

    def chunks(self, name: str, offset: int) -> Iterator[bytes]:
        """Yield what stands in a file from an offset on, a bounded part at a time.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        path = f"{self.root}/{name}" if name else self.root
        with self._told(name), self.fs.open(path, "rb", block_size=CHUNK_BYTES) as file:
            file.seek(offset)
            while data := file.read(CHUNK_BYTES):
                yield bytes(data)

    def part(self, name: str, start: int, end: int) -> bytes:
        """Return some bytes of a file.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._told(name):
            return bytes(self.fs.cat_file(f"{self.root}/{name}" if name else self.root, start=start, end=end))

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Say of what file system whatever a driver raises; each has errors of its own."""
        try:
            yield
        except Exception as error:
            where = f"{self.url.rstrip('/')}/{name}" if name else self.url
            raise RemoteFailed(f"{where} cannot be used: {error or type(error).__name__}") from error


def _stamp(info: dict[str, Any]) -> Stamp:
    version = next((info[key] for key in _VERSIONS if info.get(key) is not None), "")
    return Stamp(int(info.get("size") or 0), str(version))


__all__ = ["SharedFolder", "arrive", "arrive_all", "arrived", "is_url"]
