"""What passed last time, and so deserves another try when it fails now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from store.record import FAILED

if TYPE_CHECKING:
    from store.record import Record


@dataclass(frozen=True)
class History:
    """Facts about earlier runs, given to the scheduler as data."""

    passed: frozenset[tuple[str, str]] = frozenset()
    """Experiment ids with their environments whose newest earlier record has a result."""
    tries: int = 0
    """How often a group with a new failure is measured again (`--retry-new-failures`)."""

    def is_new_failure(self, record: Record) -> bool:
        """Say whether the experiment fails now and did not last time."""
        return record.status in FAILED and (record.experiment_id, record.environment.name) in self.passed
