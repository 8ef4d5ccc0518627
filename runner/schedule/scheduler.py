"""Carry out a plan: groups one after the other, a process per experiment, one record per outcome."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from runner import instrument
from runner.backends import backend_of
from runner.messages import Instrument, Instrumented, Load, Settings, Verified, Verify
from runner.schedule import artifacts, outcome
from runner.schedule.caches import Caches, Scratch, in_order
from runner.schedule.conversation import Extra, Priming, Timing
from runner.schedule.extras import Extras
from runner.schedule.history import History
from runner.schedule.leader import Leader
from runner.schedule.outcome import Outcome
from store.record import FAILED, Artifact, Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.schedule.outcome import RunFacts
    from runner.schedule.pool import Pool
    from runner.schedule.progress import ProgressView
    from runner.schedule.resume import Group
    from store.record import PlanEntry, Record


@dataclass(frozen=True, kw_only=True)
class Lab:
    """An environment as the scheduler uses it: what its records share, and where its processes come from."""

    facts: RunFacts
    pool: Pool


@dataclass(frozen=True, kw_only=True)
class Job:
    """One experiment of a group as the scheduler carries it out."""

    entry: PlanEntry
    attempt: int
    folder: Path
    """Of its artifacts; absolute."""
    batch_size: int | None
    facts: RunFacts
    leader: Leader

    @property
    def settings(self) -> Settings:
        return self.facts.settings

    def log(self, name: str) -> Path:
        """Return where a process of this name prints to."""
        return self.folder / f"attempt-{self.attempt}-{name}.log"


@dataclass(kw_only=True)
class Scheduler:
    """The owner of the order; the only one that writes records."""

    labs: Mapping[str, Lab]
    folder: Path
    torchbench_dir: Path | None
    write: Callable[[Record], None]
    progress: ProgressView
    history: History = field(default_factory=History)

    def measure(self, group: Group) -> None:
        """Measure a group; where something fails that passed last time, the whole group once more.

        The new attempt starts an interpreter for each process, all members alike, so that they stay comparable.
        """
        records = self._attempt(group, None)
        for _ in range(self.history.tries):
            if not any(map(self.history.is_new_failure, records)):
                return
            group = replace(group, attempt=group.attempt + 1)
            self.progress.again(group.entries)
            records = self._attempt(group, "interpreter")

    def _attempt(self, group: Group, start: str | None) -> list[Record]:
        """Measure the members in sequence; the batch size is resolved by the first and holds for all."""
        batch_size: int | None = None
        records: list[Record] = []
        caches = Caches(group.entries)
        try:
            for entry in in_order(group.entries):
                self.progress.begin(entry)
                job = self._job(entry, group.attempt, batch_size, start)
                result = self._timed(job, caches)
                extras = self._extras(job, result)
                if batch_size is None and result.loaded is not None:
                    batch_size = result.loaded.batch_size
                record = outcome.make_record(entry, self._facts(job), result, attempt=group.attempt, extras=extras)
                self.write(record)
                records.append(record)
                self.progress.end(entry, record)
        finally:
            caches.discard()
        return records

    def _job(self, entry: PlanEntry, attempt: int, batch_size: int | None, start: str | None) -> Job:
        lab = self.labs[entry.environment]
        settings = msgspec.structs.replace(lab.facts.settings, start=start or lab.facts.settings.start)
        return Job(
            entry=entry,
            attempt=attempt,
            folder=artifacts.folder_of(self.folder, entry).resolve(),
            batch_size=batch_size,
            facts=replace(lab.facts, settings=settings),
            leader=Leader(pool=lab.pool, settings=settings, progress=self.progress),
        )

    def _facts(self, job: Job) -> RunFacts:
        """Return the facts with what the server said, which it says when the first process is asked for."""
        forked = job.settings.start == "fork"
        return replace(job.facts, hello=self.labs[job.entry.environment].pool.hello if forked else None)

    def _timed(self, job: Job, caches: Caches) -> Outcome:
        """Measure in the caches that belong to the experiment, filled ones where it is a warm one."""
        if job.settings.verify == "only":
            return Outcome(status="verify_only")
        scratch, complete = caches.open(job.entry), False
        try:
            if job.entry.config.cache == "warm" and not scratch.filled:
                primed = self._process(job, "primer", Priming(self._load(job)), scratch)
                if primed.error is not None:
                    return primed
                scratch.filled = True
            result = self._process(job, "timed", Timing(self._load(job)), scratch)
            complete = result.error is None
            return result
        finally:
            caches.close(job.entry, scratch, complete=complete)

    def _extras(self, job: Job, result: Outcome) -> Extras:
        """Verify and instrument, each in processes of their own; what failed to load is not tried again."""
        extras = Extras()
        if result.error is None or result.error.phase != "load":
            if job.settings.verify != "off":
                self._verify(job, extras)
            self._instrument(job, extras, failed=result.status in FAILED)
        extras.artifacts = [*self._logs(job), *extras.artifacts]
        return extras

    def _verify(self, job: Job, extras: Extras) -> None:
        found = self._extra(job, "verify", Extra(Verify(load=self._load(job))))
        if isinstance(found.answer, Verified):
            extras.verification, extras.verify_metrics = found.answer.verification, found.answer.metrics
        else:
            extras.verification = Verification(code="VERIFIER_DIDNT_RUN", decided_by=found.status, error=found.error)

    def _instrument(self, job: Job, extras: Extras, *, failed: bool) -> None:
        config = job.entry.config
        left = job.settings.artifact_limit_bytes
        extras.warnings += instrument.notes(config, job.settings)
        for each in instrument.passes(config, job.settings, failed=failed):
            folder = job.folder / f"attempt-{job.attempt}"
            folder.mkdir(exist_ok=True)
            command = Instrument(
                load=self._load(job), instruments=each.instruments, folder=str(folder), limit_bytes=left
            )
            limit = instrument.Limit(folder, left)
            found = self._extra(job, each.name, Extra(command), each.variables(config, folder, {}))
            if isinstance(found.answer, Instrumented):
                extras.instrumented.append(found.answer)
                extras.artifacts += [self._from_run(folder, artifact) for artifact in found.answer.artifacts]
                left -= sum(artifact.bytes or 0 for artifact in found.answer.artifacts)
            elif found.error is not None:
                extras.warnings.append(f"the extra process `{each.name}` did not end well: {found.error.message}")
                extras.artifacts += [self._from_run(folder, artifact) for artifact in instrument.salvaged(limit)]

    def _from_run(self, folder: Path, artifact: Artifact) -> Artifact:
        artifact.path = str((folder / artifact.path).relative_to(self.folder.resolve()))
        return artifact

    def _logs(self, job: Job) -> list[Artifact]:
        logs = sorted(job.folder.glob(f"attempt-{job.attempt}-*.log"))
        root = self.folder.resolve()
        return [Artifact(kind="log", path=str(log.relative_to(root)), bytes=log.stat().st_size) for log in logs]

    def _extra(self, job: Job, name: str, lines: Extra, variables: Mapping[str, str] | None = None) -> Outcome:
        """Lead an extra process, in caches of its own that go with it."""
        scratch = Scratch()
        try:
            return self._process(job, name, lines, scratch, variables or {})
        finally:
            scratch.remove()

    def _process(
        self,
        job: Job,
        name: str,
        lines: Timing | Priming | Extra,
        scratch: Scratch,
        variables: Mapping[str, str] | None = None,
    ) -> Outcome:
        config = job.entry.config
        own = backend_of(config.xla, config.dynamo, config.torch_xla2).variables(config, scratch.path)
        return job.leader.lead(lines, {**own, **(variables or {})}, job.log(name), scratch.ready)

    def _load(self, job: Job) -> Load:
        config = job.entry.config
        return Load(
            config=config,
            settings=job.settings,
            batch_size=config.batch_size if job.batch_size is None else job.batch_size,
            torchbench_dir=str(self.torchbench_dir) if self.torchbench_dir else None,
            requested_at=0.0,
        )
