"""Folders of other hosts, on a shared disk or in an object store: write to them, and copy their new content."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from store.errors import MissingPackage, NoSuchSource, RemoteFailed, UsageError
from store.files import write_atomically
from store.identity import digest
from store.run_file import LINES, RESULTS, RUN_FILE

KNOWN = ".arrived"
"""File in the local folder with the size and version that each remote file had when it was last read."""
_TAIL_BYTES = 4096
_GROWS = re.compile(r"(.+\.jsonl|log)")
"""Names of files that only grow at their end."""


def arrived(url: str, folder: Path) -> Path:
    """Copy new content of a URL into a subfolder of `folder`; return the path to ingest.

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
    """Copy new content; return the number of changed files.

    Copied are all files of the run folders in the place and below it, and files of lines.

    Raises:
        NoSuchSource: there is nothing to ingest.
        RemoteFailed: the place cannot be reached; what has arrived stays, and the next call goes on.
    """
    stamps = _to_ingest(_safe(place.files()))
    if not stamps:
        raise NoSuchSource(f"{place.url} contains no {RESULTS} and no {RUN_FILE}. Name a run folder, or one of runs.")
    return _bring_new(place, stamps, into)


def arrive_all(place: SharedFolder, into: Path) -> int:
    """Copy new content of every file; return the number of changed files, which is 0 for an empty place.

    Raises:
        RemoteFailed: the place cannot be reached; what has arrived stays, and the next call goes on.
    """
    return _bring_new(place, _safe(place.files()), into)


def _bring_new(place: SharedFolder, stamps: Mapping[str, Stamp], into: Path) -> int:
    known = _known(into)
    paths = {name: into / (name or PurePosixPath(place.root).name) for name in sorted(stamps, key=_order)}
    changed = [
        name for name, path in paths.items() if known.get(name) != stamps[name] or not _is_here(path, stamps[name])
    ]
    for name in changed:
        _bring(place, name, stamps[name], paths[name])
        known[name] = stamps[name]
        write_atomically(into / KNOWN, json.dumps(known).encode())
    return len(changed)


def _is_here(path: Path, stamp: Stamp) -> bool:
    """Tell whether the copy is still there as a whole: it may have been deleted, or cut by a power loss."""
    try:
        return path.stat().st_size >= stamp.size
    except OSError:
        return False


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
        if not name or not runs.isdisjoint(path.parents) or LINES.fullmatch(path.name)
    }


def _order(name: str) -> tuple[bool, bool, str]:
    """Return the sort key of a name: run.json first, then files of records, then all others."""
    file = PurePosixPath(name).name
    return file != RUN_FILE, LINES.fullmatch(file) is None, name


def _known(into: Path) -> dict[str, Stamp]:
    into.mkdir(parents=True, exist_ok=True)
    try:
        stamps = json.loads((into / KNOWN).read_bytes())
        return {name: Stamp(int(size), str(version)) for name, (size, version) in stamps.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _bring(place: SharedFolder, name: str, stamp: Stamp, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    offset = _goes_on(place, name, stamp, path)
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


def _goes_on(place: SharedFolder, name: str, stamp: Stamp, path: Path) -> int | None:
    """Return the offset from which to read on; None if the local file is another one, or there is none."""
    if not _GROWS.fullmatch(path.name) or not path.is_file():
        return None
    size = path.stat().st_size
    if not 0 < size < stamp.size:
        return None
    start = max(0, size - _TAIL_BYTES)
    with path.open("rb") as file:
        file.seek(start)
        return size if place.part(name, start, size) == file.read() else None


CHUNK_BYTES = 2**22
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_VERSIONS = ("ETag", "etag", "md5Hash", "content_hash", "mtime", "LastModified", "last_modified", "updated", "created")
"""Names in file systems for a version that changes when a file is written; the first existing one counts."""


def is_url(text: str) -> bool:
    """Tell whether a text is a URL and not a path."""
    return _URL.match(text) is not None


class Stamp(NamedTuple):
    """Size and version of a file; either changes when the file is written."""

    size: int
    version: str


@dataclass(frozen=True)
class SharedFolder:
    """A folder of an fsspec file system; names in it are relative, with slashes."""

    fs: Any
    root: str
    url: str
    """The URL as the user wrote it."""

    @classmethod
    def of(cls, text: str) -> SharedFolder:
        """Return the folder that a path or URL names, without accessing it.

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
        except (ValueError, OSError) as error:  # that of FTP connects already here
            raise UsageError(
                f"{text} cannot be used: {error}. Name a folder, or a URL as s3://bucket/folder."
            ) from None
        return cls(fs, str(root).rstrip("/"), text)

    @property
    def local(self) -> Path | None:
        """The path of the folder if it is on this host; None otherwise."""
        protocol = self.fs.protocol
        return Path(self.root) if "file" in ((protocol,) if isinstance(protocol, str) else protocol) else None

    def under(self, name: str) -> SharedFolder:
        return SharedFolder(self.fs, f"{self.root}/{name}", f"{self.url.rstrip('/')}/{name}")

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is no such file.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._as_remote_failure(name):
            try:
                return bytes(self.fs.cat_file(f"{self.root}/{name}"))
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file; a reader sees the old or the new content.

        Raises:
            RemoteFailed: the place cannot be reached, or refuses.
        """
        with self._as_remote_failure(name):
            if self.local is not None:
                path = self.local / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, data)
            else:
                self.fs.pipe_file(f"{self.root}/{name}", data)

    def put(self, name: str, path: Path) -> None:
        """Copy a file of this host into the folder.

        Raises:
            RemoteFailed: the place cannot be reached, or refuses.
        """
        with self._as_remote_failure(name):
            if self.local is None:
                self.fs.put_file(str(path), f"{self.root}/{name}")
                return
            target = self.local / name
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.part")
            self.fs.cp_file(str(path), str(part))
            part.replace(target)

    def exists(self, name: str) -> bool:
        """Tell whether a file exists.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._as_remote_failure(name):
            self.fs.invalidate_cache()
            return bool(self.fs.exists(f"{self.root}/{name}"))

    def files(self) -> dict[str, Stamp]:
        """Return the files in the folder and below, by name; a file itself has an empty name. Links are left out.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._as_remote_failure(""):
            self.fs.invalidate_cache()
            infos = self.fs.find(self.root, detail=True)
        begin = len(self.root.strip("/"))
        return {
            path.strip("/")[begin:].strip("/"): _stamp(info)
            for path, info in infos.items()
            # A link on a shared disk may lead to what only this host's user may read.
            if info.get("type", "file") == "file" and not info.get("islink")
        }

    def chunks(self, name: str, offset: int) -> Iterator[bytes]:
        """Yield the content of a file from an offset on, in chunks.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        path = f"{self.root}/{name}" if name else self.root
        with self._as_remote_failure(name), self.fs.open(path, "rb", block_size=CHUNK_BYTES) as file:
            file.seek(offset)
            while data := file.read(CHUNK_BYTES):
                yield bytes(data)

    def part(self, name: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from `start` to `end`.

        Raises:
            RemoteFailed: the place cannot be reached.
        """
        with self._as_remote_failure(name):
            return bytes(self.fs.cat_file(f"{self.root}/{name}" if name else self.root, start=start, end=end))

    @contextlib.contextmanager
    def _as_remote_failure(self, name: str) -> Iterator[None]:
        """Turn any exception of a driver into `RemoteFailed`, because each driver has its own exceptions."""
        try:
            yield
        except Exception as error:
            where = f"{self.url.rstrip('/')}/{name}" if name else self.url
            raise RemoteFailed(f"{where} cannot be used: {error or type(error).__name__}") from error


def _stamp(info: dict[str, Any]) -> Stamp:
    version = next((info[key] for key in _VERSIONS if info.get(key) is not None), "")
    return Stamp(int(info.get("size") or 0), str(version))


__all__ = ["SharedFolder", "arrive", "arrive_all", "arrived", "is_url"]
