"""Send what is new in a folder of this host to a shared place."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from store.run_file import RESULTS, RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from store.remote import SharedFolder

_BYTES_PER_S = 1e6
"""A file that goes on growing is sent again no faster than this: objects are written as a whole."""
_FIRST = (RUN_FILE, RESULTS)


@dataclass
class Mirror:
    """A folder and its copy."""

    folder: Path
    place: SharedFolder
    _sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Size and time of each file when it was sent last."""
    _not_before: dict[str, float] = field(default_factory=dict)

    def send(self, *, all_of_it: bool = False) -> None:
        """Send the files that were written to; with `all_of_it` also those that were sent a moment ago.

        Raises:
            RemoteFailed: the place cannot be reached; the next call goes on.
        """
        for name, path in self._files():
            stat = path.stat()
            stamp = (stat.st_size, stat.st_mtime_ns)
            if self._sent.get(name) == stamp or (time.monotonic() < self._not_before.get(name, 0.0) and not all_of_it):
                continue
            self.place.put(name, path)
            self._sent[name] = stamp
            self._not_before[name] = time.monotonic() + stat.st_size / _BYTES_PER_S

    def _files(self) -> Iterator[tuple[str, Path]]:
        """Yield the files with their names; what a run is, then its records, then the rest."""
        every = (path for path in self.folder.rglob("*") if not path.name.startswith("."))
        found = [path for path in every if path.is_file() and not path.is_symlink()]
        for path in sorted(found, key=lambda each: (each.name not in _FIRST, each.name != RUN_FILE, each)):
            if path.is_file():  # what is written as a whole has had another name meanwhile
                yield path.relative_to(self.folder).as_posix(), path
