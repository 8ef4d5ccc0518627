"""The results of both runs of a lane, side by side, and addresses of the pages that show them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec

from store.errors import UsageError
from store.query import Connection, fetch, named
from store.report.table import Column
from store.weekly.lanes import Lane

PAGE = Column(title="page", link=True)


class Pages(msgspec.Struct, frozen=True):
    """The dashboard at `address`; without one there are no links."""

    address: str | None = None

    def __post_init__(self) -> None:
        """Refuse an address that is neither http nor https.

        Raises:
            UsageError: it is no http address.
        """
        if self.address is not None and not self.address.startswith(("http://", "https://")):
            raise UsageError(f"{self.address} is not the address of a dashboard. Pass it as http://HOST:PORT.")

    def of(self, run: str, suite: str, model: str, test: str) -> str | None:
        """Return the page of a model in a run."""
        if self.address is None:
            return None
        chosen = urlencode({"run": run, "suite": suite, "model": model, "test": test})
        return f"{self.address.rstrip('/')}/speedup?{chosen}"


Row = dict[str, Any]
Key = tuple[Any, ...]
"""Key that a result shares with the one it is compared with: for two runs, experiment and environment."""
PASSED, FAILED = "P", "F"


class LaneSides(msgspec.Struct, frozen=True):
    """The results of both runs of a lane by the key that they share; `last` is empty without an earlier run."""

    lane: Lane
    now: dict[Key, Row]
    last: dict[Key, Row]

    def both(self, outcome: str) -> list[Key]:
        return [key for key in self.now if self.outcome(key) == outcome == self.outcome_before(key)]

    def keys(self) -> tuple[dict[tuple[str, str, str], Key], dict[tuple[str, str, str], Key]]:
        """Return the keys of both sides, now and last, by run, experiment and environment."""
        now, last = (
            {(row["run_id"], row["experiment_id"], row["environment"]): key for key, row in side.items()}
            for side in (self.now, self.last)
        )
        return now, last

    def outcome(self, key: Key) -> str | None:
        return self.now[key]["outcome"] if key in self.now else None

    def outcome_before(self, key: Key) -> str | None:
        return self.last[key]["outcome"] if key in self.last else None


def sides_of(con: Connection, lane: Lane) -> LaneSides:
    """Read both runs of a lane."""
    by_run: dict[str, dict[Key, Row]] = {run: {} for run in lane.runs}
    for row in fetch(con, named("weekly_results"), {"runs": lane.runs, "accelerator": lane.accelerator}):
        by_run[row["run_id"]][row["experiment_id"], row["environment"]] = row
    now = by_run[lane.now.run_id]
    return LaneSides(lane, now, _named_as(by_run[lane.last.run_id], now) if lane.last else {})


def _named_as(last: dict[Key, Row], now: dict[Key, Row]) -> dict[Key, Row]:
    """Return the last run's results under the name of this one's environment, where each run has a single one."""
    theirs, ours = ({environment for _, environment in side} for side in (last, now))
    if theirs == ours or len(theirs) != 1 or len(ours) != 1:
        return last
    (name,) = ours
    return {(experiment, name): row for (experiment, _), row in last.items()}
