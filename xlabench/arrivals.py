"""Bring records that other hosts have measured into the store, as they arrive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from store.errors import StoreError
from store.follow import Follower

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class Arrivals:
    """The store of a home whose runs are measured elsewhere."""

    store: Path
    state: Path
    say: Callable[[str], None]
    _followers: dict[Path, Follower] = field(default_factory=dict)

    def tell(self, run: Path, *, is_over: bool) -> None:
        """Ingest what has come of a run: not sooner than it allows while the run goes on, and all of it at its end.

        What the store refuses stays in the run's folder, and the next ingest finds it there.
        """
        follower = self._followers.setdefault(run, Follower(run, self.store))
        try:
            if is_over:
                del self._followers[run]
                self._finish(follower)
            else:
                follower.tell()
        except StoreError as error:
            self.say(f"Records of {run.name} are not in the store: {error} Then type: xlabench ingest {run}")

    def _finish(self, follower: Follower) -> None:
        from store import changepoints

        if follower.finish().published:
            changepoints.update(self.store, self.state)
