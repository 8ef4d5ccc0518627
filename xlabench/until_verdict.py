"""`--until-verdict`: reads verdicts from the store, and measures ambiguous experiments in more processes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.schedule.groups import Further
from store.compare import settle
from store.run_file import read_records
from xlabench.command import index_of

if TYPE_CHECKING:
    from runner.schedule.run_folder import RunFolder
    from store.ingest.run import Follower


@dataclass(kw_only=True)
class UntilVerdict:
    """Names what the scheduler measures next; it is called after each of its answers has been measured."""

    folder: RunFolder
    follower: Follower
    _began: float | None = None
    _seconds_spent: float = 0.0
    _looked: int = 0
    _queue: list[settle.Extension] = field(default_factory=list)
    _unpaid: set[settle.Pair] = field(default_factory=set)
    _before: tuple[settle.RunCell, ...] = ()
    _records_before: int = 0

    def __call__(self) -> Further | None:
        """Return the next group; None if everything is settled or out of reach, or the time is spent."""
        if self._began is None:
            self._began = time.monotonic()
        while self._queue or self._look():
            extension = self._queue.pop(0)
            pairs = {cell.pair for cell in extension.cells}
            if extension.seconds <= self._time_left():
                self._unpaid -= pairs
                return self._further(extension)
            self._unpaid |= pairs
        self._seconds_spent = time.monotonic() - self._began
        return None

    def report(self) -> str:
        """Return a sentence about what the additional processes settled, after the run is over and ingested."""
        settings = self.folder.settings
        spent = settle.SpentProcesses(
            processes=self._processes() - self._records_before,
            seconds=self._seconds_spent,
            budget_s=settings.verdict_budget_s,
            unpaid=frozenset(self._unpaid),
        )
        first, looks = settings.processes, settings.looks
        return settle.saved_time_sentence(
            self._before, self._judge(), spent, self._process_seconds(), first=first, looks=looks
        )

    def _time_left(self) -> float:
        spent = time.monotonic() - self._began if self._began is not None else 0.0
        return self.folder.settings.verdict_budget_s - spent

    def _look(self) -> bool:
        """Read the verdicts and queue the experiments to extend; the last look is that of the report."""
        settings = self.folder.settings
        if self._looked >= settings.looks - 1:
            return False
        self.follower.finish()
        cells = self._judge()
        if not self._looked:
            self._before, self._records_before = cells, self._processes()
        self._looked += 1
        most = settle.most_processes(settings.processes, settings.looks)
        chosen, unpaid = settle.extensions(cells, most, self._process_seconds(), self._time_left())
        self._queue = list(chosen)
        print(settle.settle_sentence(cells, chosen))
        self._unpaid |= {cell.pair for cell in unpaid}
        return bool(chosen)

    def _judge(self) -> tuple[settle.RunCell, ...]:
        file = self.folder.file
        with index_of(self.follower.store_dir) as con:
            return settle.judged(con, file.run.run_id, settle.pairs(file.plan))

    def _process_seconds(self) -> dict[settle.Key, float]:
        groups = {entry.key: entry.group for entry in self.folder.file.plan}
        return settle.process_seconds(read_records(self.folder.results), groups)

    def _processes(self) -> int:
        return sum(record.twin_of is None for record in read_records(self.folder.results))

    def _further(self, extension: settle.Extension) -> Further:
        entries = {entry.key: entry for entry in self.folder.file.plan}
        return Further(entries=tuple(entries[key] for key in extension.members), processes=extension.processes)
