"""Show what a measuring process prints while it prints it (`--print-subprocess`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class LogFollower:
    """Passes on the lines of a growing log, each once and whole."""

    log: Path
    show: Callable[[str], None]
    _read: int = 0
    _part: bytes = b""

    def __post_init__(self) -> None:
        self._read = self.log.stat().st_size if self.log.exists() else 0

    def new(self) -> None:
        """Show the lines that were finished since the last call."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            found = log.read()
        self._read += len(found)
        *lines, self._part = (self._part + found).split(b"\n")
        for line in lines:
            self._tell(line)

    def rest(self) -> None:
        """Show what is left once the process has ended."""
        self.new()
        if self._part:
            self._tell(self._part)
            self._part = b""

    def _tell(self, line: bytes) -> None:
        self.show(f"  | {line.decode(errors='replace').rstrip()}")
