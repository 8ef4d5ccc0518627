"""The runs of the store as notices need them: whether one is over, and its name with versions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from store.query import fetch, named

if TYPE_CHECKING:
    from store.query import Connection

NEWS = timedelta(days=3)
"""Runs that began earlier, as those of an archive that is ingested now, are no news."""
QUIET = timedelta(hours=1)
"""A run whose plan is not done is over all the same when nothing of it came for so long."""


class RunFacts(msgspec.Struct, frozen=True):
    """A run; times are UTC without a zone."""

    run_id: str
    label: str
    started: datetime
    complete: bool
    ingested_at: datetime | None
    torch: str | None
    torch_xla: str | None

    def is_over(self, now: datetime) -> bool:
        """Say whether nothing more is to be expected of it."""
        return self.complete or self.ingested_at is None or now - self.ingested_at > QUIET

    def is_news(self, now: datetime) -> bool:
        """Say whether it is new enough to tell people of it."""
        return now - self.started <= NEWS

    @property
    def state(self) -> str:
        """Return a text that changes when more of it has come."""
        return f"{self.ingested_at} {self.complete}"

    @property
    def happened_at(self) -> float:
        """Return its start in Unix seconds."""
        return self.started.replace(tzinfo=UTC).timestamp()

    def text(self) -> str:
        """Return it as people name it, with its versions."""
        versions = f"torch {self.torch or 'unknown'}, torch_xla {self.torch_xla or 'none'}"
        return f"{self.label} of {self.started:%Y-%m-%d %H:%M} UTC ({self.run_id}), {versions}"


def runs_of(con: Connection) -> dict[str, RunFacts]:
    """Return all runs by their id, the oldest first."""
    return {row["run_id"]: RunFacts(**row) for row in fetch(con, named("notice_runs"))}
