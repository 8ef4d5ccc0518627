"""How long an experiment's threads wait for each other on an idle machine, and what goes beyond that."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from store.files import write_atomically
from store.identity import digest

OWN_WAITS_FOLDER = "waits"
"""Folder of the experiments' own waits in the home."""
WAIT_SHARE = 0.05
"""A thread that waits for a twentieth of a turn makes it so much longer at most: half of what a result may be off."""
MOST_REMOVED = 0.10
"""Largest share of a turn that is subtracted as a delay by other programs; from there on, the turn is disturbed."""
LEAST_IDLE_TURNS = 3
"""Idle turns from which the waiting of an experiment is known."""
_IDLE_TURNS_KEPT = 60
"""Idle turns that are kept: those of about six processes."""
_LEAST_OF_A_SHARE = 12
"""Idle turns from which their distribution is known."""
_MANY = 0.25
"""Share of idle turns that would count as disturbed next to other programs, from which waits say nothing of these."""


def is_delayed(share: float, own: float) -> bool:
    """Say whether a thread waited too much beyond its own waiting: that much is not subtracted from a time."""
    return share - own >= max(WAIT_SHARE, min(own, MOST_REMOVED))


def hide_delays(idle_shares: Sequence[float], own: float) -> bool:
    """Say whether many idle turns wait as long as delayed ones.

    To choose turns by their waits then chooses among the experiment's own ways to run, which take different times.
    """
    delayed_n = sum(is_delayed(share, own) for share in idle_shares)
    return len(idle_shares) >= _LEAST_OF_A_SHARE and delayed_n >= _MANY * len(idle_shares)


class WaitShares(msgspec.Struct):
    """What one file holds: shares of waiting of turns on an idle machine, the newest last."""

    wait_share: list[float]


@dataclass(kw_only=True)
class OwnWaits:
    """Wait shares of idle turns by experiment, machine and policy.

    A run has no idle turn of its own while another program never rests; turns of earlier runs on the same machine
    show how much of the waiting is the experiment's own.
    """

    folder: Path | None = None
    """Folder of the stored waits; None if they last only as long as the run."""
    _known: dict[str, list[float]] = field(default_factory=dict)

    def add(self, key: Sequence[str | None], share: float) -> None:
        """Add a turn that was taken while no other program used the CPUs."""
        self._of(key).append(share)

    def median(self, key: Sequence[str | None]) -> float | None:
        """Return the median share; None of too few turns."""
        shares = self._of(key)
        return statistics.median(shares) if len(shares) >= LEAST_IDLE_TURNS else None

    def hide_delays(self, key: Sequence[str | None]) -> bool:
        """Tell whether the idle turns' waits vary so much that those next to other programs say nothing of these."""
        own = self.median(key)
        return own is not None and hide_delays(self._of(key)[-_IDLE_TURNS_KEPT:], own)

    def save(self, key: Sequence[str | None]) -> None:
        """Keep what is known of an experiment for later runs."""
        name = digest(list(key))
        if self.folder is not None and (shares := self._known.get(name)):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / f"{name}.json", msgspec.json.encode(WaitShares(shares[-_IDLE_TURNS_KEPT:])))

    def _of(self, key: Sequence[str | None]) -> list[float]:
        name = digest(list(key))
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> list[float]:
        if self.folder is None:
            return []
        try:
            return msgspec.json.decode((self.folder / f"{name}.json").read_bytes(), type=WaitShares).wait_share
        except (OSError, msgspec.DecodeError):
            return []
