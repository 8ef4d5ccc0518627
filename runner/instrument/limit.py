"""The byte limit of an experiment's artifacts, kept while they are written: a dump must not fill the disk."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_PERIOD_S = 0.5
_READ_BY_PEOPLE = frozenset({".txt", ".json", ".gz", ".py", ".pt", ".pb", ".log"})
"""Kept before compilers' intermediate files."""


class Limit:
    """Watches a folder; what is written beyond the limit is deleted and remembered."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._before = frozenset(_files(folder))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="artifact limit", daemon=True)
        self.cut: list[Path] = []
        """Files that are gone."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self.enforce()

    def written(self) -> list[Path]:
        """Return the files that this process wrote and that are still there."""
        return [path for path in _files(self.folder) if path not in self._before]

    def warnings(self) -> list[str]:
        """Say that something was cut."""
        if not self.cut:
            return []
        return [f"{len(self.cut)} artifact files were cut at the byte limit (--artifact-limit)"]

    def enforce(self) -> None:
        """Delete what lies beyond the limit: the first written stay, what people read before what compilers read."""
        total = 0
        for path in sorted(self.written(), key=_order):
            size = _size(path)
            if total + size <= self._limit_bytes:
                total += size
                continue
            with contextlib.suppress(OSError):
                # Whoever still writes there writes into a hole.
                os.truncate(path, 0)
                path.unlink()
            if path not in self.cut:
                self.cut.append(path)

    def _watch(self) -> None:
        while not self._over.wait(_PERIOD_S):
            if sum(map(_size, self.written())) > self._limit_bytes:
                self.enforce()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _order(path: Path) -> tuple[bool, float, str]:
    try:
        written_at = path.stat().st_mtime
    except OSError:
        written_at = 0.0
    return path.suffix not in _READ_BY_PEOPLE, written_at, path.name


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
