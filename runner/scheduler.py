"""Carry out a plan: groups one after the other, one process per experiment, one record per outcome."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner import failure, outcome
from runner.backends import backend_of
from runner.messages import Exactly, Failed, Finish, Load, Loaded, Report, Turn, WarmUp
from runner.outcome import Outcome
from runner.pool import ChildGone, Pool, Process, ServerGone, TimedOut, tail
from store.record import Artifact

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.messages import Settings
    from runner.outcome import RunFacts
    from runner.progress import ProgressView
    from runner.resume import Group
    from store.record import PlanEntry, Record

_SERVER_TRIES = 2


@dataclass(kw_only=True)
class Scheduler:
    """The owner of the order; the only one that writes records."""

    facts: RunFacts
    pool: Pool
    folder: Path
    torchbench_dir: Path | None
    write: Callable[[Record], None]
    progress: ProgressView

    def measure(self, group: Group) -> None:
        """Measure the members of a group in sequence; the batch size is resolved by the first and holds for all."""
        batch_size: int | None = None
        for entry in group.entries:
            self.progress.begin(entry)
            result, log = self._experiment(entry, batch_size, group.attempt)
            if batch_size is None and result.loaded is not None:
                batch_size = result.loaded.batch_size
            # The server says hello when the first process is asked for.
            facts = replace(self.facts, hello=self.pool.hello)
            artifacts = (Artifact(kind="log", path=str(log.relative_to(self.folder)), bytes=log.stat().st_size),)
            record = outcome.make_record(entry, facts, result, attempt=group.attempt, artifacts=artifacts)
            self.write(record)
            self.progress.end(entry, record)

    def _experiment(self, entry: PlanEntry, batch_size: int | None, attempt: int) -> tuple[Outcome, Path]:
        """Measure one experiment; a death of the fork server is not its fault, so it is tried once more."""
        log = self._log(entry, attempt)
        for tries in range(1, _SERVER_TRIES + 1):
            try:
                return self._in_scratch(entry, batch_size, log), log
            except ServerGone:
                self.pool.stop()
                if tries == _SERVER_TRIES:
                    break
        message = f"the fork server died {_SERVER_TRIES} times during this experiment"
        error = failure.describe("load", RuntimeError(message))
        return Outcome(status="crashed", error=error), log

    def _in_scratch(self, entry: PlanEntry, batch_size: int | None, log: Path) -> Outcome:
        """Give the experiment caches of its own, and take them away afterwards."""
        scratch = Path(tempfile.mkdtemp(prefix="xlabench-"))
        try:
            backend = backend_of(entry.config.xla, entry.config.dynamo)
            self.pool.prepare()
            requested_at = time.monotonic()
            process = self.pool.spawn(backend.variables(entry.config, scratch), log)
            return self._converse(process, self._load(entry, batch_size, requested_at))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _load(self, entry: PlanEntry, batch_size: int | None, requested_at: float) -> Load:
        return Load(
            config=entry.config,
            settings=self.facts.settings,
            batch_size=entry.config.batch_size if batch_size is None else batch_size,
            torchbench_dir=str(self.torchbench_dir) if self.torchbench_dir else None,
            requested_at=requested_at,
        )

    def _converse(self, process: Process, load: Load) -> Outcome:
        """Lead one process through its phases and say how it ended."""
        settings = self.facts.settings
        deadline = time.monotonic() + settings.timeout_s
        talk = Conversation(self.pool, process, deadline, self.progress.phase)
        try:
            return talk.lead(load, settings)
        except TimedOut:
            self.pool.kill(process)
            error = failure.of_timeout(_phase(process), settings.timeout_s, tail(process.log))
            return Outcome(status="timeout", error=error, loaded=talk.loaded)
        except ChildGone:
            return self._gone(process, talk)
        except BaseException:
            self.pool.kill(process)
            raise
        finally:
            talk.exit_status = self.pool.end(process) if talk.exit_status is None else talk.exit_status

    def _gone(self, process: Process, talk: Conversation) -> Outcome:
        status_known = self.pool.end(process)
        talk.exit_status = status_known or 0
        killed_for_memory = failure.kernel_oom_kills() > talk.oom_kills_before
        status, error = failure.of_exit(_phase(process), status_known, tail(process.log), oom_kill=killed_for_memory)
        return Outcome(status=status, error=error, loaded=talk.loaded)

    def _log(self, entry: PlanEntry, attempt: int) -> Path:
        folder = self.folder / "logs"
        folder.mkdir(exist_ok=True)
        return folder / f"{entry.experiment_id}-{entry.environment}-{attempt}.log"


@dataclass
class Conversation:
    """The messages of one experiment, in order."""

    pool: Pool
    process: Process
    deadline: float
    on_phase: Callable[[str], None]
    loaded: Loaded | None = None
    exit_status: int | None = None
    oom_kills_before: int = field(default_factory=failure.kernel_oom_kills)

    def lead(self, load: Load, settings: Settings) -> Outcome:
        answer = self._ask(load)
        if isinstance(answer, Failed):
            return self._failed(answer)
        self.loaded = answer
        failed = self._measure(settings)
        report = failed or self._ask(Finish())
        if isinstance(report, Failed):
            return self._failed(report)
        return self._finished(report)

    def _measure(self, settings: Settings) -> Failed | None:
        """Warm up and take the turn, again while a compilation falls into it; return a failure."""
        if settings.preset == "peer":
            answer = self._ask(Exactly(settings.repeat))
            return answer if isinstance(answer, Failed) else None
        while True:
            answer = self._ask(WarmUp())
            if isinstance(answer, Failed):
                return answer
            if not answer.steady:
                return None
            answer = self._ask(Turn(settings.repeat, 0))
            if isinstance(answer, Failed):
                return answer
            if answer.steady:
                return None

    def _ask(self, command: Any) -> Any:
        return self.pool.ask(self.process, command, self.deadline, self.on_phase)

    def _failed(self, answer: Failed) -> Outcome:
        return Outcome(
            status=answer.status,  # type: ignore[arg-type]  # the child speaks the record's words
            error=answer.error,
            loaded=self.loaded,
            report=answer.report,
        )

    def _finished(self, report: Report) -> Outcome:
        if "steady" not in report.kinds:
            return Outcome(status="never_steady", loaded=self.loaded, report=report)
        if report.invalid:
            error = failure.describe("measure", RuntimeError(report.invalid))
            error.type, error.traceback = "InvalidMeasurement", None
            return Outcome(status="invalid", error=error, loaded=self.loaded, report=report)
        return Outcome(status="ok", loaded=self.loaded, report=report)


def _phase(process: Process) -> Any:
    return process.phase
