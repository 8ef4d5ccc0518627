"""One attempt at a group: its processes in the arranged order, a record for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from runner.schedule import artifacts, records
from runner.schedule.arrange import one_by_one, order_of
from runner.schedule.caches import Caches, in_order
from runner.schedule.examine import examine
from runner.schedule.interleave import Table
from runner.schedule.job import Job, Lease
from runner.schedule.outcome import Arrangement, Outcome
from runner.schedule.proofs import Proofs, refuse
from store.record import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.schedule.arrange import Order
    from runner.schedule.benchmark_process import BenchmarkProcess
    from runner.schedule.job import ScheduledEnvironment
    from runner.schedule.progress import ProgressView
    from runner.schedule.resume import Group, Member
    from runner.settings import Settings
    from store.record import Record


@dataclass(kw_only=True)
class Attempt:
    """Measures a group once; what failed in its first process is tried in no further one."""

    group: Group
    labs: Mapping[str, ScheduledEnvironment]
    folder: Path
    torchbench_dir: Path | None
    write: Callable[[Record], None]
    progress: ProgressView
    proofs: Proofs = field(default_factory=Proofs)
    start: str | None = None
    """How its processes start, where it is not as the settings say."""
    records: list[Record] = field(default_factory=list)
    _batch_size: int | None = None
    _given_up: set[tuple[str, str, bool]] = field(default_factory=set)

    def carry_out(self) -> list[Record]:
        """Measure all replicas of all members; the batch size is resolved by the first and holds for all."""
        members, settings = self.group.members, self._settings
        order = order_of(members, settings)
        caches = Caches(members)
        try:
            if order == "interleaved":
                self._interleaved(members, caches)
            else:
                for member, replica in one_by_one(members, self._replicas, order):
                    self._alone(member, replica, order, caches)
        finally:
            caches.discard()
        return self.records

    def __post_init__(self) -> None:
        if self.group.extension is not None:
            self._batch_size = self.group.extension.batch_size

    @property
    def _replicas(self) -> range:
        """Return the replicas that are measured: all, or those that are added."""
        extension = self.group.extension
        return range(self._settings.replicas) if extension is None else extension.replicas

    @property
    def _settings(self) -> Settings:
        """Return the protocol settings, which all environments share."""
        return self.labs[self.group.entries[0].environment].facts.settings

    def _interleaved(self, members: tuple[Member, ...], caches: Caches) -> None:
        table = Table(caches=caches, progress=self.progress, make_job=self._job, loaded=self._resolve)
        turns = self._settings.turns()
        for replica in self._replicas:
            left = [member for member in in_order(members) if member.key not in self._given_up]
            for part in table.measure(left, replica):
                together = len(part.places)
                order: Order = "interleaved" if together > 1 else "rounds"
                warning = part.warning()
                how = Arrangement(order, max(turns), together, [warning] if warning else [])
                for place in part.places:
                    assert place.outcome is not None  # noqa: S101 - the table has measured it to its end
                    self._record(place.job, place.outcome, how, place.seat.running_s if place.seat else 0.0)

    def _alone(self, member: Member, replica: int, order: Order, caches: Caches) -> None:
        if member.key in self._given_up:
            return
        self.progress.begin(member, replica)
        job = self._job(member, replica)
        if job.settings.quiet and job.settings.wait_quiet and job.settings.verify != "only":
            job.pool.quiet.wait()
        self._record(job, self._timed(job, caches), Arrangement(order, max(job.settings.turns())))

    def _timed(self, job: Job, caches: Caches) -> Outcome:
        """Measure without a stop, in the caches that belong to the experiment."""
        if job.settings.verify == "only":
            return Outcome(status="verify_only")
        lease = Lease(job, caches)
        try:
            primed = lease.prime()
            if primed is not None:
                return primed
            seat = job.timed(lease.ready, job.settings.turns())
            result = seat.run()
            self._resolve(seat)
            if result.error is None:
                lease.fill()
            return result
        finally:
            lease.close()

    def _resolve(self, seat: BenchmarkProcess) -> None:
        if self._batch_size is None and seat.loaded is not None:
            self._batch_size = seat.loaded.batch_size

    def _job(self, member: Member, replica: int) -> Job:
        lab = self.labs[member.entry.environment]
        usual, extension = lab.facts.settings, self.group.extension
        processes = usual.processes
        if extension is not None:
            processes = extension.had.get(member.key[:2], 0) + len(extension.replicas)
        settings = msgspec.structs.replace(usual, start=self.start or usual.start, processes=processes)
        return Job(
            member=member,
            replica=replica,
            attempt=self.group.attempt,
            run_folder=self.folder.resolve(),
            folder=artifacts.folder_of(self.folder, member.entry).resolve(),
            batch_size=self._batch_size,
            torchbench_dir=self.torchbench_dir,
            facts=replace(lab.facts, settings=settings),
            pool=lab.pool,
            progress=self.progress,
        )

    def _record(self, job: Job, result: Outcome, how: Arrangement, seconds: float | None = None) -> None:
        """Examine the experiment where that was asked for, and write its record."""
        proof = self.proofs.of(job, result)
        result = refuse(result, proof)
        extras = examine(job, result)
        extras.proof = proof
        record = records.make_record(
            job.entry,
            job.run_facts(),
            result,
            attempt=job.attempt,
            replica=job.replica,
            twin=job.member.twin,
            extras=extras,
            how=how,
        )
        self.write(record)
        self.records.append(record)
        self.progress.end(job.member, job.replica, record, seconds)
        left = self._replicas.stop - job.replica - 1
        if job.replica == self._replicas.start and result.status in FAILED and left:
            self._given_up.add(job.member.key)
            self.progress.leave_out(job.member, left)
