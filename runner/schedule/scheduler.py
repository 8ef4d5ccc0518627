"""Carry out a plan: groups one after the other, a record for each process; only the scheduler writes records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.schedule.attempt import Attempt
from runner.schedule.history import History
from runner.schedule.proofs import Proofs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.schedule.job import ScheduledEnvironment
    from runner.schedule.progress import ProgressView
    from runner.schedule.resume import Group
    from store.record import Record


@dataclass(kw_only=True)
class Scheduler:
    """The owner of the order; the only one that writes records."""

    labs: Mapping[str, ScheduledEnvironment]
    folder: Path
    torchbench_dir: Path | None
    write: Callable[[Record], None]
    progress: ProgressView
    history: History = field(default_factory=History)
    proofs: Proofs = field(default_factory=Proofs)

    def measure(self, group: Group) -> None:
        """Measure a group; where something fails that passed last time, the whole group once more.

        The new attempt starts an interpreter for each process, all members alike, so that they stay comparable.
        """
        records = self._attempt(group, None)
        for _ in range(self.history.tries):
            if not any(map(self.history.is_new_failure, records)):
                return
            group = replace(group, attempt=group.attempt + 1)
            self.progress.expect_retry(group.members)
            records = self._attempt(group, "interpreter")

    def extend(self, group: Group) -> None:
        """Measure further processes of a group; one that fails is a result, and no reason to measure all again."""
        extension = group.extension
        assert extension is not None  # noqa: S101 - the caller has made it so
        self.progress.expect_further(group.members, extension.replicas)
        self._attempt(group, extension.start)

    def _attempt(self, group: Group, start: str | None) -> list[Record]:
        attempt = Attempt(
            group=group,
            labs=self.labs,
            folder=self.folder,
            torchbench_dir=self.torchbench_dir,
            write=self.write,
            progress=self.progress,
            proofs=self.proofs,
            start=start,
        )
        return attempt.carry_out()
