"""One process of a group as the scheduler carries it out: its experiment, its replica, its folder, its seats."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from runner.backends import backend_of
from runner.messages import Load
from runner.schedule.benchmark_process import BenchmarkProcess
from runner.schedule.caches import Scratch
from runner.schedule.conversation import Extra, Priming, Timing
from store.record import Artifact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.messages import Instrument, Prove, Verify
    from runner.schedule.caches import Caches
    from runner.schedule.outcome import Outcome, RunFacts
    from runner.schedule.pool import Pool
    from runner.schedule.progress import ProgressView
    from runner.schedule.resume import Member
    from runner.settings import Settings
    from store.record import ExperimentConfig, PlanEntry


@dataclass(frozen=True, kw_only=True)
class ScheduledEnvironment:
    """An environment as the scheduler uses it: what its records share, and where its processes come from."""

    facts: RunFacts
    pool: Pool


@dataclass(frozen=True, kw_only=True)
class Job:
    """A member of a group in one of its replicas."""

    member: Member
    replica: int
    attempt: int
    run_folder: Path
    folder: Path
    """Folder of its artifacts; both paths are absolute."""
    batch_size: int | None
    torchbench_dir: Path | None
    facts: RunFacts
    pool: Pool
    progress: ProgressView
    logs: list[Path] = field(default_factory=list)
    """What its processes print, in the order they began."""

    @property
    def entry(self) -> PlanEntry:
        return self.member.entry

    @property
    def config(self) -> ExperimentConfig:
        return self.member.entry.config

    @property
    def settings(self) -> Settings:
        return self.facts.settings

    @property
    def results_file(self) -> Path | None:
        """Return where the timed process leaves results for the verification, which is of the first replica."""
        if self.settings.verify != "with" or self.replica or self.member.twin:
            return None
        return self.folder / f"attempt-{self.attempt}-results.pt"

    def load(self) -> Load:
        """Return the first message to any of its processes."""
        return Load(
            config=self.config,
            settings=self.settings,
            batch_size=self.config.batch_size if self.batch_size is None else self.batch_size,
            torchbench_dir=str(self.torchbench_dir) if self.torchbench_dir else None,
            requested_at=0.0,
            own=self.facts.own.get(self.config.model_name) if self.config.source else None,
        )

    def run_facts(self) -> RunFacts:
        """Return what its record shares with others, with what the server said when its first process was asked for."""
        return replace(self.facts, hello=self.pool.hello if self.settings.start == "fork" else None)

    def timed(self, scratch: Callable[[], Scratch], turns: tuple[int, ...], rewarm: int = 0) -> BenchmarkProcess:
        """Return the seat of the process that is timed; its caches are asked for before each try."""
        results = self.results_file
        load = msgspec.structs.replace(self.load(), results=str(results) if results else None)
        lines = Timing(load, turns, rewarm, self._waits_alike)
        return self._seat("timed", lines, lambda: self._variables(scratch()))

    @property
    def _waits_alike(self) -> tuple[str | None, ...]:
        """Return what processes have in common whose threads wait for each other alike."""
        environment = self.facts.environment
        return (*self.member.key[:2], environment.machine_id, environment.torch, environment.torch_xla)

    def prime(self, scratch: Scratch) -> Outcome:
        """Have a process of the same configuration fill the caches."""
        return self._seat("primer", Priming(self.load()), lambda: self._variables(scratch)).run()

    def lead_extra(
        self, name: str, command: Verify | Prove | Instrument, more: Mapping[str, str] | None = None
    ) -> Outcome:
        """Lead an extra process, in caches of its own that go with it."""
        scratch = Scratch()
        try:
            return self._seat(name, Extra(command), lambda: {**self._variables(scratch), **(more or {})}).run()
        finally:
            scratch.remove()

    def log_artifacts(self) -> list[Artifact]:
        """Return the logs that have been written."""
        found = [log for log in self.logs if log.exists()]
        return [
            Artifact(kind="log", path=str(log.relative_to(self.run_folder)), bytes=log.stat().st_size) for log in found
        ]

    def _seat(
        self, name: str, lines: Timing | Priming | Extra, variables: Callable[[], Mapping[str, str]]
    ) -> BenchmarkProcess:
        log = self.folder / f"attempt-{self.attempt}-{name}{self._suffix()}.log"
        self.logs.append(log)
        return BenchmarkProcess(
            pool=self.pool, settings=self.settings, progress=self.progress, lines=lines, log=log, variables=variables
        )

    def _suffix(self) -> str:
        return ("-twin" if self.member.twin else "") + (f"-{self.replica}" if self.replica else "")

    def _variables(self, scratch: Scratch) -> Mapping[str, str]:
        scratch.ready()
        config = self.config
        return backend_of(config.xla, config.dynamo, config.torch_xla2).variables(config, scratch.path)


@dataclass
class Lease:
    """The caches of a timed process, from its first try to its end."""

    job: Job
    caches: Caches
    scratch: Scratch | None = None

    def ready(self) -> Scratch:
        """Return the folder for a try; a cold process that begins anew does not find what it left to its sibling."""
        if self.scratch is None or (self.scratch.filled and self.job.config.cache == "cold"):
            self.close()
            self.scratch = self.caches.open(self.job.entry, self.job.replica)
        return self.scratch

    def prime(self) -> Outcome | None:
        """Have a warm process's caches filled where no sibling has; return how that went wrong."""
        scratch = self.ready()
        if self.job.config.cache == "warm" and not scratch.filled:
            primed = self.job.prime(scratch)
            if primed.error is not None:
                return primed
            scratch.filled = True
        return None

    def fill(self) -> None:
        """Leave the caches to a warm sibling: the process has compiled."""
        if self.scratch is not None:
            self.caches.fill(self.job.entry, self.job.replica, self.scratch)

    def close(self) -> None:
        """Give them back."""
        if self.scratch is not None:
            self.caches.close(self.scratch)
            self.scratch = None
