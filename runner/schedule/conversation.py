"""The messages of one measuring process, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from runner import failure
from runner.messages import Exactly, Failed, Finish, Instrument, Load, Loaded, Report, Turn, Verify, WarmUp
from runner.schedule.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.messages import Settings
    from runner.schedule.pool import Pool, Process


@dataclass
class Conversation:
    """A process and what it has told."""

    pool: Pool
    process: Process
    deadline: float
    on_phase: Callable[[str], None]
    watch: Callable[[], None] | None = None
    """Called while an answer is due; it may raise to end the conversation."""
    loaded: Loaded | None = None
    exit_status: int | None = None
    oom_kills_before: int = field(default_factory=failure.kernel_oom_kills)

    def ask(self, command: Any) -> Any:
        return self.pool.ask(self.process, command, self.deadline, self.on_phase, self.watch)

    def failed(self, answer: Failed) -> Outcome:
        return Outcome(
            status=answer.status,  # type: ignore[arg-type]  # the child speaks the record's words
            error=answer.error,
            loaded=self.loaded,
            report=answer.report,
        )


@dataclass(frozen=True)
class Timing:
    """Load, warm up, take the turn, report."""

    load: Load

    def requested(self, at: float) -> Timing:
        """Return the same with the time (CLOCK_MONOTONIC) when the process was asked for."""
        return Timing(msgspec.structs.replace(self.load, requested_at=at))

    def lead(self, talk: Conversation, settings: Settings) -> Outcome:
        answer = talk.ask(self.load)
        if isinstance(answer, Failed):
            return talk.failed(answer)
        talk.loaded = answer
        failed = _measure(talk, settings)
        report = failed or talk.ask(Finish())
        if isinstance(report, Failed):
            return talk.failed(report)
        return _finished(talk, report)


@dataclass(frozen=True)
class Priming:
    """Load and compile, so that the caches are filled; nothing is reported."""

    load: Load

    def requested(self, at: float) -> Priming:
        """Return the same: nothing here is timed."""
        del at
        return self

    def lead(self, talk: Conversation, settings: Settings) -> Outcome:
        del settings
        for command in (self.load, WarmUp()):
            answer = talk.ask(command)
            if isinstance(answer, Failed):
                return talk.failed(answer)
        return Outcome(status="ok")


@dataclass(frozen=True)
class Extra:
    """One question, one answer: verification, or dumps and profiles."""

    command: Verify | Instrument

    def requested(self, at: float) -> Extra:
        """Return the same: nothing here is timed from its request."""
        del at
        return self

    def lead(self, talk: Conversation, settings: Settings) -> Outcome:
        del settings
        answer = talk.ask(self.command)
        if isinstance(answer, Failed):
            return talk.failed(answer)
        return Outcome(status="ok", answer=answer)


Lines = Timing | Priming | Extra
"""What a process is asked, in order."""


def _measure(talk: Conversation, settings: Settings) -> Failed | None:
    """Warm up and take the turn, again while a compilation falls into it; return a failure."""
    if settings.preset == "peer":
        answer = talk.ask(Exactly(settings.repeat))
        return answer if isinstance(answer, Failed) else None
    while True:
        answer = talk.ask(WarmUp())
        if isinstance(answer, Failed):
            return answer
        if not answer.steady:
            return None
        answer = talk.ask(Turn(settings.repeat, 0))
        if isinstance(answer, Failed):
            return answer
        if answer.steady:
            return None


def _finished(talk: Conversation, report: Report) -> Outcome:
    if "steady" not in report.kinds:
        return Outcome(status="never_steady", loaded=talk.loaded, report=report)
    if report.invalid:
        error = failure.describe("measure", RuntimeError(report.invalid))
        error.type, error.traceback = "InvalidMeasurement", None
        return Outcome(status="invalid", error=error, loaded=talk.loaded, report=report)
    return Outcome(status="ok", loaded=talk.loaded, report=report)
