"""Carry out a plan: groups one after the other, a record for each process; only the scheduler writes records.

From a group to a timed block: `Scheduler` → `Attempt` → `ReplicaJob` → `BenchmarkProcess` → `Pool`, then, in the
benchmark process, `ExperimentMeasurement` → `TimedStep`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from runner.schedule import records
from runner.schedule.benchmark_process import Caches
from runner.schedule.examine import Proofs, examine, refuse_unproved
from runner.schedule.groups import Group, Member, Order, in_order, one_by_one, order_of, turn_order
from runner.schedule.job import ReplicaJob, artifacts_folder
from runner.schedule.memory import LEAST_AVAILABLE, machine_memory, readable_bytes
from runner.schedule.outcome import Arrangement, Outcome, RunFacts
from runner.schedule.pool import Pool
from runner.schedule.progress import ProgressView
from runner.settings import Settings
from store.errors import all_of, counted
from store.record import FAILED, Record


@dataclass(frozen=True)
class History:
    """Facts about earlier runs, given to the scheduler as data."""

    passed: frozenset[tuple[str, str]] = frozenset()
    """Experiment ids with their environments whose newest earlier record has a result."""
    tries: int = 0
    """How often a group with a new failure is measured again (`--retry-new-failures`)."""

    def is_new_failure(self, record: Record) -> bool:
        """Say whether the experiment fails now and did not last time."""
        return record.status in FAILED and record.key in self.passed


HEADROOM = 1.25
"""Factor over the largest process so far: the next one may be larger, and all grow while they work."""


@dataclass(kw_only=True)
class Scheduler:
    """Decides the order of processes, and alone writes records."""

    facts: Mapping[str, RunFacts]
    """What records share, by the environment that they are measured in."""
    pools: Mapping[str, Pool]
    """The processes of each environment."""
    folder: Path
    write: Callable[[Record], None]
    progress: ProgressView
    history: History = field(default_factory=History)
    proofs: Proofs = field(default_factory=Proofs)

    def measure(self, group: Group) -> None:
        """Measure a group; repeat the whole group if an experiment fails that passed last time.

        The new attempt starts an interpreter for each process, all members alike, so that they stay comparable.
        """
        made = Attempt(self, group).carry_out()
        for _ in range(self.history.tries):
            if not any(map(self.history.is_new_failure, made)):
                return
            group = replace(group, attempt=group.attempt + 1)
            self.progress.expect_retry(group.members)
            made = Attempt(self, group, "interpreter").carry_out()

    def extend(self, group: Group) -> None:
        """Measure further processes of a group; a failure among them is a result and causes no retry."""
        extension = group.extension
        assert extension is not None  # noqa: S101 - the caller has made it so
        self.progress.expect_further(group.members, extension.replicas)
        Attempt(self, group, extension.start).carry_out()


class Attempt:
    """Measures a group once; an experiment that fails in its first process gets no further ones.

    Members take turns where they can: each process compiles alone while the others are stopped, then all take their
    rounds. Where memory does not hold all of them at once, they are measured in parts.
    """

    def __init__(self, run: Scheduler, group: Group, start: str | None = None) -> None:
        """Prepare an attempt; `start` says how its processes start, where it is not as the settings say."""
        self._run, self._group, self._start = run, group, start
        self._caches = Caches(group.members)
        self._records: list[Record] = []
        self._batch_size = group.extension.batch_size if group.extension else None
        self._given_up: set[tuple[str, str, bool]] = set()
        self._largest = 0
        self._room: int | None = None  # how many processes fit at once, after some did not

    def carry_out(self) -> list[Record]:
        """Measure all replicas of all members; the batch size is resolved by the first and holds for all."""
        members = self._group.members
        order = order_of(members, self._settings)
        try:
            if order == "interleaved":
                for replica in self._replicas:
                    self._interleaved(replica)
            else:
                for member, replica in one_by_one(members, self._replicas, order):
                    self._alone(member, replica, order)
        finally:
            self._caches.discard()
        return self._records

    @property
    def _replicas(self) -> range:
        """Return the replicas that are measured: all, or those that are added."""
        extension = self._group.extension
        return range(self._settings.replicas) if extension is None else extension.replicas

    @property
    def _settings(self) -> Settings:
        """Return the protocol settings, which all environments share."""
        return self._run.facts[self._group.entries[0].environment].settings

    def _alone(self, member: Member, replica: int, order: Order) -> None:
        """Measure a process without a stop."""
        if member.key in self._given_up:
            return
        self._run.progress.begin(member, replica)
        job = self._job(member, replica)
        outcome = Outcome(status="verify_only")
        try:
            if job.settings.verify != "only":
                _wait_for_quiet(job)
                outcome = self._timed(job)
            self._record(job, outcome, Arrangement(order, max(job.settings.turns())))
        finally:
            job.leave()

    def _timed(self, job: ReplicaJob) -> Outcome:
        process = job.timed()
        if process is None:
            assert job.primed is not None  # noqa: S101 - that is why there is none
            return job.primed
        outcome = process.run()
        self._resolve(job)
        if outcome.error is None:
            job.keep_caches()
        return outcome

    def _interleaved(self, replica: int) -> None:
        """Measure one process of each member, in as many parts as memory asks for."""
        queue = deque(member for member in in_order(self._group.members) if member.key not in self._given_up)
        total = len(queue)
        if queue and replica == self._replicas.start:
            self._run.progress.interleave(queue)
        while queue:
            jobs: list[ReplicaJob] = []
            try:
                available = self._open(queue, replica, jobs)
                if alive := next((job for job in jobs if job.alive), None):
                    _wait_for_quiet(alive)  # all processes are stopped, so that none of their time passes
                self._take_turns(jobs, replica)
                queue.extend(job.member for job in jobs if job.crowded)
                self._record_part([job for job in jobs if not job.crowded], total, available)
            finally:
                for job in jobs:
                    job.leave()

    def _open(self, queue: deque[Member], replica: int, jobs: list[ReplicaJob]) -> int:
        """Let as many processes compile and warm up as fit; return the available memory if some do not fit, else 0."""
        while queue:
            alive = [job for job in jobs if job.alive]
            available = self._lacking(alive)
            if available:
                return available
            job = self._job(queue.popleft(), replica)
            jobs.append(job)
            self._run.progress.begin(job.member, replica)
            process = job.timed(stops=True)
            if process is not None:
                process.advance()
                self._resolve(job)
                if job.alive:
                    job.keep_caches()
                    self._largest = max(self._largest, process.held_bytes())
            self._judge(job, alive)
        return 0

    def _lacking(self, alive: Sequence[ReplicaJob]) -> int:
        """Return the available memory if another process would not fit; 0 if it fits or is the first."""
        available, total = machine_memory()
        full = self._room is not None and len(alive) >= self._room
        fits = available - LEAST_AVAILABLE * total >= HEADROOM * self._largest
        return available if alive and (full or not fits) else 0

    def _take_turns(self, jobs: Sequence[ReplicaJob], replica: int) -> None:
        """Give the processes their turns, round after round, until each has reported or failed."""
        number = 0
        while any(job.alive for job in jobs):
            for index in turn_order(len(jobs), number, jobs[0].settings.seed, replica):
                job = jobs[index]
                if job.process is not None and job.alive:
                    others = [other for other in jobs if other.alive and other is not job]
                    if job.process.wants_turn:
                        further = job.settings.until_stable is not None and number >= len(job.settings.turns())
                        self._run.progress.turn(job.member, replica, number, further=further)
                    job.process.advance(number)
                    self._judge(job, others)
            number += 1

    def _judge(self, job: ReplicaJob, others: Sequence[ReplicaJob]) -> None:
        """Mark a process that ran out of memory while others held some; it is measured again with fewer others."""
        outcome = job.outcome
        own_limit = outcome is not None and outcome.error is not None and outcome.error.type == "MemoryLimit"
        if outcome is not None and outcome.status == "oom" and others and not own_limit:
            job.crowded = True
            self._room = len(others)

    def _resolve(self, job: ReplicaJob) -> None:
        """Keep the batch size of the first process that has loaded its model."""
        if self._batch_size is None and job.process is not None and job.process.loaded is not None:
            self._batch_size = job.process.loaded.batch_size

    def _job(self, member: Member, replica: int) -> ReplicaJob:
        run, group = self._run, self._group
        facts = run.facts[member.entry.environment]
        usual, extension = facts.settings, group.extension
        processes = usual.processes
        if extension is not None:
            processes = extension.had.get(member.key[:2], 0) + len(extension.replicas)
        settings = msgspec.structs.replace(usual, start=self._start or usual.start, processes=processes)
        return ReplicaJob(
            member=member,
            replica=replica,
            attempt=group.attempt,
            run_folder=run.folder.resolve(),
            folder=artifacts_folder(run.folder, member.entry).resolve(),
            batch_size=self._batch_size,
            facts=replace(facts, settings=settings),
            pool=run.pools[member.entry.environment],
            progress=run.progress,
            caches=self._caches,
        )

    def _record_part(self, jobs: Sequence[ReplicaJob], total: int, available: int) -> None:
        """Record processes that were open at the same time; a warning says where they were not the whole group."""
        together = len(jobs)
        warnings: list[str] = []
        if together != total:
            left = f"with {readable_bytes(available)} of memory left " if available else ""
            no_room = f"{left}there was no room for {all_of(total, 'process', 'processes')} of its group at once"
            turns = f"took turns with {counted(together - 1, 'other')}" if together > 1 else "was measured alone"
            warnings.append(f"{no_room}: this one {turns}")
        order: Order = "interleaved" if together > 1 else "rounds"
        how = Arrangement(order, max(self._settings.turns()), together, warnings)
        for job in jobs:
            assert job.outcome is not None  # noqa: S101 - it was measured to its end
            self._record(job, job.outcome, how, job.process.running_s if job.process else 0.0)

    def _record(self, job: ReplicaJob, result: Outcome, how: Arrangement, seconds: float | None = None) -> None:
        """Examine the experiment where that was asked for, and write its record."""
        proof = self._run.proofs.of(job, result)
        result = refuse_unproved(result, proof)
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
        self._run.write(record)
        self._records.append(record)
        self._run.progress.end(job.member, job.replica, record, seconds)
        left = self._replicas.stop - job.replica - 1
        if job.replica == self._replicas.start and result.status in FAILED and left:
            self._given_up.add(job.member.key)
            self._run.progress.leave_out(job.member, left)


def _wait_for_quiet(job: ReplicaJob) -> None:
    """Wait for other programs to leave the CPUs, if the settings ask for it."""
    if job.settings.quiet and job.settings.wait_quiet:
        job.pool.quiet.wait()
