"""One measuring process, led from its start to its end; between turns it can be stopped while others are measured."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner import failure
from runner.environments.state import MachineWatch
from runner.messages import Failed, Pause
from runner.schedule.conversation import Conversation, LogFollower, Timing
from runner.schedule.outcome import Outcome
from runner.schedule.pool import ChildGone, Pool, Process, ServerGone, TimedOut, tail
from runner.schedule.watch_memory import MemoryExceeded, MemoryWatch, of_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.messages import Loaded
    from runner.schedule.conversation import Lines
    from runner.schedule.progress import ProgressView
    from runner.settings import Settings


_SERVER_TRIES = 2
MOST_PRINTED_BYTES = 1 << 30
"""Limit of a process's log: a model that prints in an endless loop would fill the disk until its time is over."""


class PrintedTooMuch(Exception):
    """A process has printed more than `MOST_PRINTED_BYTES`."""


@dataclass(kw_only=True)
class BenchmarkProcess:
    """A process of one environment and its lines; `outcome` is there once it has ended."""

    pool: Pool
    settings: Settings
    progress: ProgressView
    lines: Lines
    log: Path
    variables: Callable[[], Mapping[str, str]]
    """Asked before each try: what the process's environment holds, its caches made ready."""
    outcome: Outcome | None = None
    running_s: float = 0.0
    """How long it ran, all tries together."""
    _talk: Conversation | None = field(default=None, init=False)
    _tries: int = field(default=0, init=False)

    @property
    def loaded(self) -> Loaded | None:
        """Return what its model said when it stood on its device."""
        told = self.outcome or self._talk
        return told.loaded if told else None

    @property
    def wants_turn(self) -> bool:
        """Say whether it goes on with a turn, and not with its report."""
        return self._talk is not None and self._talk.wants_turn

    def run(self) -> Outcome:
        """Lead it to its end without a stop."""
        while self.outcome is None:
            self.advance(stop=False)
        return self.outcome

    def advance(self, round_number: int = 0, *, stop: bool = True) -> None:
        """Let it run until it may be stopped, and stop it; the first time that is after its warm-up.

        A death of the fork server is not the experiment's fault, so it is started again once, from its begin.
        """
        while self.outcome is None:
            try:
                self.outcome = self._turn(round_number, stop=stop)
            except ServerGone:
                if self._tries < _SERVER_TRIES:
                    continue
                message = f"the fork server died {_SERVER_TRIES} times during this experiment"
                self.outcome = Outcome(status="crashed", error=failure.describe("load", RuntimeError(message)))
            return

    def held_bytes(self) -> int:
        """Return the memory that its process and all below it hold; 0 once it has ended."""
        return self.pool.held_bytes(self._talk.process) if self._talk else 0

    def drop(self) -> None:
        """End it, stopped or not, whatever it was doing."""
        if self._talk is not None:
            self.pool.kill(self._talk.process)
            self._collect()

    def _turn(self, round_number: int, *, stop: bool) -> Outcome | None:
        """Run to the next pause or to the end; return how it ended."""
        began = None
        try:
            talk = self._talk = self._talk or self._started()
            began = time.monotonic()
            if talk.script is not None and stop:
                self.pool.resume(talk.process)
            return self._speak(talk, round_number, stop=stop)
        except ServerGone:
            process = self._talk.process if self._talk else None
            self.drop()
            self.pool.lost(process)
            raise
        except BaseException:
            self.drop()
            raise
        finally:
            # What its server took to start is not its own time.
            seconds = time.monotonic() - began if began is not None else 0.0
            self.running_s += seconds
            if self._talk is not None:
                self._talk.left_s -= seconds

    def _started(self) -> Conversation:
        self._tries += 1
        variables = self.variables()
        self.pool.prepare(self.settings.start)
        machine = None
        if isinstance(self.lines, Timing):
            machine = MachineWatch(self.lines.load.config.accelerator, self.settings.device_index)
        follower = LogFollower(self.log, self.progress.note)
        requested_at = time.monotonic()
        process = self.pool.spawn(variables, self.log, self.settings.start)
        return Conversation(
            pool=self.pool,
            process=process,
            requested_at=requested_at,
            left_s=self.settings.timeout_s,
            on_phase=self.progress.phase,
            watch=self._watcher(process, follower),
            follower=follower,
            machine=machine,
        )

    def _watcher(self, process: Process, follower: LogFollower) -> Callable[[], None]:
        memory = MemoryWatch(self.settings.memory_limit_bytes)

        def look() -> None:
            memory.check(process.pid)
            if process.log.stat().st_size > MOST_PRINTED_BYTES:
                raise PrintedTooMuch
            if self.settings.print_subprocess:
                follower.new()

        return look

    def _speak(self, talk: Conversation, round_number: int, *, stop: bool) -> Outcome | None:
        """Say the next lines; every way in which they can end is an outcome."""
        process = talk.process
        talk.deadline = time.monotonic() + talk.left_s
        try:
            ended = talk.go_on(self.lines, self.settings, round_number)
            if ended is None and stop:
                ended = self._pause(talk)
            return None if ended is None else self._ended(ended, talk)
        except TimedOut:
            self.pool.kill(process)
            error = failure.of_timeout(_phase(process), self.settings.timeout_s, tail(process.log))
            return self._ended(Outcome(status="timeout", error=error, loaded=talk.loaded), talk)
        except MemoryExceeded as exceeded:
            self.pool.kill(process)
            error = of_memory(_phase(process), exceeded, tail(process.log))
            return self._ended(Outcome(status="oom", error=error, loaded=talk.loaded), talk)
        except PrintedTooMuch:
            self.pool.kill(process)
            status, error = failure.of_output(_phase(process), MOST_PRINTED_BYTES, tail(process.log))
            return self._ended(Outcome(status=status, error=error, loaded=talk.loaded), talk)
        except ChildGone:
            wait_status = self._collect()
            oom_kill = failure.kernel_oom_kills() > talk.oom_kills_before
            status, error = failure.of_exit(_phase(process), wait_status, tail(process.log), oom_kill=oom_kill)
            return self._ended(Outcome(status=status, error=error, loaded=talk.loaded), talk)

    def _pause(self, talk: Conversation) -> Outcome | None:
        answer = talk.ask(Pause())
        if isinstance(answer, Failed):
            return talk.failed(answer)
        self.pool.pause(talk.process)
        return None

    def _ended(self, outcome: Outcome, talk: Conversation) -> Outcome:
        """Collect the process and add what the machine did meanwhile."""
        self._collect()
        if talk.machine is not None:
            outcome.machine = talk.machine.end()
        return outcome

    def _collect(self) -> int | None:
        """Have the process leave and learn its wait status; nothing of it stays."""
        talk, self._talk = self._talk, None
        if talk is None:
            return None
        status = self.pool.end(talk.process)
        if self.settings.print_subprocess:
            talk.follower.rest()
        return status


def _phase(process: Process) -> Any:
    return process.phase
