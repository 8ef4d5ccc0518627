"""How long the threads of an experiment wait for each other on an idle machine, kept in the home for later runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from store.folder import write_whole
from store.identity import digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FOLDER = "waits"
"""Under the home."""
LEAST = 3
"""Idle turns from which the waiting of an experiment is known."""
_KEPT = 60
"""Idle turns that are kept: those of about six processes."""


class Shares(msgspec.Struct):
    """What one file holds: shares of waiting of turns on an idle machine, the newest last."""

    wait_share: list[float]


@dataclass(kw_only=True)
class OwnWaits:
    """Wait shares of idle turns by experiment, machine and policy.

    A run beside a program that never rests has no idle turn of its own; what an earlier run has learned on the same
    machine tells it how much of the waiting is the experiment's own.
    """

    folder: Path | None = None
    """Where they are kept; None: they last as long as the run."""
    _known: dict[str, list[float]] = field(default_factory=dict)

    def add(self, key: Sequence[str | None], share: float) -> None:
        """Add a turn that was taken while no other program used the CPUs."""
        self._of(key).append(share)

    def median(self, key: Sequence[str | None]) -> float | None:
        """Return the median share; None of too few turns."""
        shares = self._of(key)
        return statistics.median(shares) if len(shares) >= LEAST else None

    def save(self, key: Sequence[str | None]) -> None:
        """Keep what is known of an experiment for later runs."""
        name = digest(list(key))
        if self.folder is not None and (shares := self._known.get(name)):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / f"{name}.json", msgspec.json.encode(Shares(shares[-_KEPT:])))

    def _of(self, key: Sequence[str | None]) -> list[float]:
        name = digest(list(key))
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> list[float]:
        if self.folder is None:
            return []
        try:
            return msgspec.json.decode((self.folder / f"{name}.json").read_bytes(), type=Shares).wait_share
        except (OSError, msgspec.DecodeError):
            return []
