"""The messages of one measuring process, in order.

Lines are generators: they yield where the process may be stopped while others run, and are sent the number of the
round that they go on in. A process that is never stopped is led through them in one go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from runner import failure
from runner.environments import gpu
from runner.environments.gpu import Gpu
from runner.messages import (
    Exactly,
    Failed,
    Finish,
    Instrument,
    Load,
    Loaded,
    ProcessReport,
    Prove,
    Turn,
    Verify,
    WarmUp,
)
from runner.schedule.outcome import Outcome
from runner.schedule.quiet import TRIES_PER_ROUND, Judge, latency_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from runner.environments.state import MachineWatch
    from runner.messages import TurnDone
    from runner.schedule.pool import Pool, Process
    from runner.settings import Settings

    Script = Generator[None, int, Outcome]


@dataclass
class LogFollower:
    """Passes on the lines of a growing log, each once and whole."""

    log: Path
    show: Callable[[str], None]
    _read: int = 0
    _part: bytes = b""

    def __post_init__(self) -> None:
        self._read = self.log.stat().st_size if self.log.exists() else 0

    def new(self) -> None:
        """Show the lines that were finished since the last call."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            found = log.read()
        self._read += len(found)
        *lines, self._part = (self._part + found).split(b"\n")
        for line in lines:
            self._tell(line)

    def rest(self) -> None:
        """Show what is left once the process has ended."""
        self.new()
        if self._part:
            self._tell(self._part)
            self._part = b""

    def _tell(self, line: bytes) -> None:
        self.show(f"  | {line.decode(errors='replace').rstrip()}")


@dataclass
class Conversation:
    """One try at a process: what it has told so far, and where its lines go on."""

    pool: Pool
    process: Process
    requested_at: float
    """CLOCK_MONOTONIC when the process was asked for."""
    left_s: float
    """Seconds left of its time limit; they pass while the process runs, not while it is stopped."""
    on_phase: Callable[[str], None]
    watch: Callable[[], None]
    """Called while an answer is due; it may raise to end the conversation."""
    follower: LogFollower
    machine: MachineWatch | None = None
    """Watches what the machine does while a timed process lives."""
    script: Script | None = None
    """The lines, being said; None before the first."""
    deadline: float = 0.0
    """CLOCK_MONOTONIC; set anew whenever the process goes on."""
    loaded: Loaded | None = None
    wants_turn: bool = True
    """Whether what it goes on with is a turn, and not its report."""
    judge: Judge | None = None
    """Says which turns of a timed process were disturbed."""
    oom_kills_before: int = field(default_factory=failure.kernel_oom_kills)

    def ask(self, command: Any) -> Any:
        return self.pool.ask(self.process, command, self.deadline, self.on_phase, self.watch)

    def go_on(self, lines: Lines, settings: Settings, round_number: int) -> Outcome | None:
        """Say lines to the next place where a stop is possible (None), or to the end."""
        try:
            if self.script is None:
                self.script = lines.lead(self, settings)
                next(self.script)
            else:
                self.script.send(round_number)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        return None

    def failed(self, answer: Failed) -> Outcome:
        return Outcome(
            status=answer.status,  # type: ignore[arg-type]  # the child speaks the record's words
            error=answer.error,
            loaded=self.loaded,
            report=answer.report,
            quiet=self.judge.report() if self.judge else None,
        )


@dataclass(frozen=True)
class Timing:
    """Load, warm up, take turns, report."""

    load: Load
    turns: tuple[int, ...]
    """Blocks of each turn."""
    rewarm: int = 0
    """Blocks before those of each turn."""
    key: tuple[str | None, ...] = ()
    """What processes of the same experiment have in common: they wait alike."""

    def lead(self, talk: Conversation, settings: Settings) -> Script:
        answer = talk.ask(msgspec.structs.replace(self.load, requested_at=talk.requested_at))
        if isinstance(answer, Failed):
            return talk.failed(answer)
        talk.loaded = answer
        judge = talk.judge = Judge(
            settings=settings,
            planned=len(self.turns),
            run=talk.pool.quiet,
            key=self.key,
            policy=answer.policy,
            gpu=Gpu(gpu.number(settings.device_index)) if self.load.config.accelerator == "cuda" else None,
        )
        failed = yield from self._measure(talk, settings, judge)
        judge.save()
        report = failed or talk.ask(Finish(judge.disturbed))
        if isinstance(report, Failed):
            return talk.failed(report)
        return _finished(talk, report, judge)

    def _measure(self, talk: Conversation, settings: Settings, judge: Judge) -> Generator[None, int, Failed | None]:
        """Warm up and take the turns, all again where a compilation falls among them; return a failure.

        A process that is not stable after them goes on with turns as long as the last one, and so does one of which
        turns were disturbed, within the bounds of the rule.
        """
        if settings.preset == "peer":
            judge.begin()
            answer = talk.ask(Exactly(settings.repeat))
            if isinstance(answer, Failed):
                return answer
            judge.judge(0, answer.facts)
            return None
        while talk.wants_turn:
            answer = talk.ask(WarmUp())
            if isinstance(answer, Failed):
                return answer
            if not answer.steady:
                return None
            judge.begin()
            round_number, taken = (yield), 0
            while talk.wants_turn:
                blocks = self.turns[min(taken, len(self.turns) - 1)]
                answer, quiet = self._turn(talk, judge, blocks, round_number)
                if isinstance(answer, Failed):
                    return answer
                if not answer.steady:
                    break
                taken = judge.quiet_n
                wanted = taken < len(self.turns) or not answer.enough
                talk.wants_turn = wanted and (quiet or judge.may_go_on())
                round_number = yield
        return None

    def _turn(self, talk: Conversation, judge: Judge, blocks: int, number: int) -> tuple[TurnDone | Failed, bool]:
        """Take the turn of a round, at once again where it was disturbed; return its answer and whether it is quiet."""
        for _ in range(TRIES_PER_ROUND):
            answer = talk.ask(Turn(blocks, number, self.rewarm, judge.disturbed))
            if isinstance(answer, Failed) or not answer.steady:
                return answer, False
            quiet = judge.judge(number, answer.facts)
            if quiet or not judge.may_go_on():
                break
        return answer, quiet


@dataclass(frozen=True)
class Questions:
    """Commands to a process that is not timed, one after the other; the answer to the last one is its outcome."""

    commands: tuple[Load | WarmUp | Verify | Prove | Instrument, ...]

    def lead(self, talk: Conversation, settings: Settings) -> Script:
        del settings
        yield from ()  # it is never stopped
        for command in self.commands:
            answer = talk.ask(command)
            if isinstance(answer, Failed):
                return talk.failed(answer)
        return Outcome(status="ok", answer=answer)


Lines = Timing | Questions
"""What a process is asked, in order."""


def _finished(talk: Conversation, report: ProcessReport, judge: Judge) -> Outcome:
    quiet = judge.report()
    disturbed = judge.refusal()
    if "steady" not in report.kinds and disturbed is None:
        return Outcome(status="never_steady", loaded=talk.loaded, report=report, quiet=quiet)
    if report.invalid:
        error = failure.describe("measure", RuntimeError(report.invalid))
        error.type, error.traceback = "InvalidMeasurement", None
        return Outcome(status="invalid", error=error, loaded=talk.loaded, report=report, quiet=quiet)
    if disturbed is not None:
        if quiet is not None:
            known = latency_bounds(report, quiet.turns.reason, judge.settings.iterations_per_run)
            quiet.at_least_s, quiet.at_most_s = known or (None, None)
        return Outcome(status="disturbed", loaded=talk.loaded, report=report, quiet=quiet, disturbed=disturbed)
    return Outcome(status="ok", loaded=talk.loaded, report=report, quiet=quiet)
