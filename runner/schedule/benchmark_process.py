"""One benchmark process, led from its start to its end, and its compiler caches; between turns it can be stopped."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from runner import failure, processes
from runner.backends import backend_of
from runner.environments.others import MachineWatch
from runner.messages import Failed, Garbled, Loaded, Pause, ProcessReport
from runner.schedule.groups import Key, Member, sibling_key
from runner.schedule.memory import MemoryExceeded, check_memory
from runner.schedule.outcome import Outcome
from runner.schedule.pool import ChildGone, Pool, Process, ServerGone, TimedOut, tail
from runner.schedule.progress import ProgressView
from runner.schedule.quiet import Judge
from runner.settings import Settings
from store.record import Accelerator, Error, ExperimentConfig, PlanEntry, Status

Script = Generator[None, int, Outcome]


_SERVER_TRIES = 2
MOST_PRINTED_BYTES = 1 << 30
"""Limit of a process's log: a model that prints in an endless loop would fill the disk until its time is over."""


class PrintedTooMuch(Exception):
    """A process has printed more than `MOST_PRINTED_BYTES`."""


_OF_OUTPUT: dict[type[Exception], tuple[str, str]] = {
    PrintedTooMuch: (
        "OutputLimit",
        f"it printed more than {MOST_PRINTED_BYTES >> 20} MiB; its process tree was killed before it filled the disk",
    ),
    Garbled: (
        "ForeignOutput",
        "the model's code wrote into the descriptor through which its process reports; its process tree was killed",
    ),
}
"""Type and message of the error of a process that is killed for what it wrote."""


@dataclass(kw_only=True)
class BenchmarkProcess:
    """A process of one environment, led by its script; `outcome` is set once it has ended."""

    pool: Pool
    settings: Settings
    progress: ProgressView
    script: Callable[[BenchmarkProcess], Script]
    """Returns the messages to the process, in order; called at each start."""
    log: Path
    variables: Callable[[], Mapping[str, str]]
    """Called before each start: returns the variables of the process's environment, and empties its caches."""
    accelerator: Accelerator | None = None
    """The accelerator that a timed process uses: the machine is watched while it lives. None: it is not timed."""
    outcome: Outcome | None = None
    running_s: float = 0.0
    """How long it ran, all starts together."""
    requested_at: float = field(default=0.0, init=False)
    """CLOCK_MONOTONIC when the process was requested."""
    loaded: Loaded | None = field(default=None, init=False)
    """The answer of its model once it is on its device."""
    wants_turn: bool = field(default=True, init=False)
    """Whether the script continues with a turn, and not with the report."""
    judge: Judge | None = field(default=None, init=False)
    """Decides which turns of a timed process were disturbed."""
    of_report: Callable[[ProcessReport], Outcome] | None = field(default=None, init=False)
    """Makes the outcome of a timed process from its report."""
    _process: Process | None = field(default=None, init=False)
    _messages: Script | None = field(default=None, init=False)
    """The script that has begun; None before its first message."""
    _left_s: float = field(default=0.0, init=False)
    """Seconds left of its time limit; they pass while the process runs, not while it is stopped."""
    _deadline: float = field(default=0.0, init=False)
    """CLOCK_MONOTONIC; set whenever the process continues."""
    _follower: LogFollower = field(init=False, repr=False)
    _machine: MachineWatch | None = field(default=None, init=False)
    _oom_kills_before: int = field(default=0, init=False)
    _starts: int = field(default=0, init=False)

    def run(self) -> Outcome:
        """Lead it to its end without a stop."""
        while self.outcome is None:
            self.advance(stop=False)
        return self.outcome

    def advance(self, round_number: int = 0, *, stop: bool = True) -> None:
        """Let it run until it may be stopped, and stop it; the first time that is after its warm-up.

        A death of the fork server is not the experiment's fault, so the process is started again once.
        """
        while self.outcome is None:
            try:
                self.outcome = self._turn(round_number, stop=stop)
            except ServerGone:
                if self._starts < _SERVER_TRIES:
                    continue
                message = f"the fork server died {_SERVER_TRIES} times during this experiment"
                self.outcome = Outcome(status="crashed", error=failure.describe("load", RuntimeError(message)))
            return

    def ask(self, command: Any) -> Any:
        """Send a command and return its answer."""
        assert self._process is not None  # noqa: S101 - a script begins after the start
        return self.pool.ask(self._process, command, self._deadline, self.progress.phase, self._watch)

    def failed(self, answer: Failed) -> Outcome:
        """Return the outcome of a process that could not continue."""
        assert self._process is not None  # noqa: S101 - it has answered
        outcome = Outcome(
            status=answer.status,  # type: ignore[arg-type]  # the child uses the record's words
            error=answer.error,
            loaded=self.loaded,
            report=answer.report,
            quiet=self.judge.report() if self.judge else None,
        )
        return self._with_times(self._process, outcome)

    def _with_times(self, process: Process, outcome: Outcome) -> Outcome:
        """Return how a process ended; of one that had reported its times, these, and how it ended after that."""
        measured = process.measured
        if measured is None or self.of_report is None:
            return outcome
        why = outcome.error.message if outcome.error else outcome.status
        warning = f"its times are complete, but it failed in an iteration after the last timed block: {why}"
        with_times = self.of_report(msgspec.structs.replace(measured, warnings=[*measured.warnings, warning]))
        with_times.broke_off = outcome
        return with_times

    def held_bytes(self) -> int:
        """Return the memory that its process and all below it hold; 0 once it has ended."""
        return self.pool.held_bytes(self._process) if self._process else 0

    def drop(self) -> None:
        """End it, stopped or not, whatever it was doing."""
        if self._process is not None:
            self.pool.kill(self._process)
            self._collect()

    def _turn(self, round_number: int, *, stop: bool) -> Outcome | None:
        """Run to the next pause or to the end; return how it ended."""
        began = None
        try:
            process = self._process or self._start()
            began = time.monotonic()
            if self._messages is not None and stop:
                self.pool.resume(process)
            return self._speak(process, round_number, stop=stop)
        except ServerGone:
            lost = self._process
            self.drop()
            self.loaded = None
            self.pool.lost(lost)
            raise
        except BaseException:
            self.drop()
            raise
        finally:
            # What its server took to start is not its own time.
            seconds = time.monotonic() - began if began is not None else 0.0
            self.running_s += seconds
            self._left_s -= seconds

    def _start(self) -> Process:
        self._starts += 1
        variables = self.variables()
        self.pool.prepare(self.settings.start)
        self._machine = MachineWatch(self.accelerator, self.settings.device_index) if self.accelerator else None
        self._follower = LogFollower(self.log, self.progress.note)
        self._left_s, self.wants_turn, self.judge = self.settings.timeout_s, True, None
        self.requested_at = time.monotonic()
        self._process = self.pool.spawn(variables, self.log, self.settings.start)
        self._oom_kills_before = failure.kernel_oom_kills()
        return self._process

    def _watch(self) -> None:
        """Check the limits of the process while an answer is due, and show what it prints."""
        assert self._process is not None  # noqa: S101 - it was asked
        check_memory(self._process.pid, self.settings.memory_limit_bytes)
        if self._process.log.stat().st_size > MOST_PRINTED_BYTES:
            raise PrintedTooMuch
        if self.settings.print_subprocess:
            self._follower.new()

    def _speak(self, process: Process, round_number: int, *, stop: bool) -> Outcome | None:
        """Send the next messages; every way in which they can end is an outcome."""
        self._deadline = time.monotonic() + self._left_s
        try:
            outcome = self._continue(round_number)
            if outcome is None and stop:
                answer = self.ask(Pause())
                if not isinstance(answer, Failed):
                    self.pool.pause(process)
                    return None
                outcome = self.failed(answer)
            return None if outcome is None else self._ended(outcome)
        except TimedOut:
            where = f"still in phase {process.phase} after {self.settings.timeout_s:g} s (--subprocess-timeout)"
            return self._killed(process, "timeout", "Timeout", f"{where}; its process tree was killed")
        except MemoryExceeded as exceeded:
            what = f"the benchmark process was killed in phase {process.phase}: {exceeded}"
            return self._killed(process, "oom", exceeded.kind, what)
        except (PrintedTooMuch, Garbled) as wrote:
            kind, what = _OF_OUTPUT[type(wrote)]
            return self._killed(process, failure.in_phase(process.phase), kind, what)
        except ChildGone:
            wait_status = self._collect()
            oom_kill = failure.kernel_oom_kills() > self._oom_kills_before
            status, error = failure.of_exit(process.phase, wait_status, tail(process.log), oom_kill=oom_kill)
            return self._ended(self._with_times(process, Outcome(status=status, error=error, loaded=self.loaded)))

    def _continue(self, round_number: int) -> Outcome | None:
        """Send messages up to the next place where a stop is possible (None), or to the end."""
        try:
            if self._messages is None:
                self._messages = self.script(self)
                next(self._messages)
            else:
                self._messages.send(round_number)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        return None

    def _killed(self, process: Process, status: Status, kind: str, message: str) -> Outcome:
        """Kill a process that exceeds a limit."""
        error = Error(phase=process.phase, type=kind, message=message, traceback=tail(process.log) or None)
        self.pool.kill(process)
        return self._ended(self._with_times(process, Outcome(status=status, error=error, loaded=self.loaded)))

    def _ended(self, outcome: Outcome) -> Outcome:
        """Collect the process and add what the machine did meanwhile."""
        self._collect()
        if self._machine is not None:
            outcome.machine = self._machine.end()
        return outcome

    def _collect(self) -> int | None:
        """Wait for the process to exit and return its wait status; nothing of it stays."""
        process, self._process, self._messages = self._process, None, None
        if process is None:
            return None
        status = self.pool.end(process)
        if self.settings.print_subprocess:
            self._follower.rest()
        return status


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
            printed = log.read()
        self._read += len(printed)
        *lines, self._part = (self._part + printed).split(b"\n")
        for line in lines:
            self._show(line)

    def rest(self) -> None:
        """Show the rest once the process has ended."""
        self.new()
        if self._part:
            self._show(self._part)
            self._part = b""

    def _show(self, line: bytes) -> None:
        self.show(f"  | {line.decode(errors='replace').rstrip()}")


# Compiler caches of a group: each process has its own, and a warm one those that its cold sibling has filled.


_PREFIX = "xlabench-cache-"
_NAME = re.compile(rf"{_PREFIX}(?P<pid>[0-9]{{1,9}})-(?P<start>[0-9]{{1,12}})-.+")


def _folder() -> Path:
    """Make a folder with its owner in its name, after deleting those of runs that were killed."""
    sweep()
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{_start(os.getpid())}-"))


def _start(pid: int) -> int | None:
    """Return the start of a process in hundredths of a second; None where it is gone."""
    started_s = processes.start_time(pid)
    return None if started_s is None else round(started_s * 100)


def sweep() -> None:
    """Delete the folders of processes that have ended: nothing else deletes them, and they are large.

    Each start and the end of each group sweep: a run that was killed a moment ago may still be there at the first.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        of = _NAME.fullmatch(folder.name)
        if of and _start(int(of["pid"])) != int(of["start"]):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(eq=False)
class Scratch:
    """A folder for the caches of one process, or of a cold one and its warm sibling."""

    path: Path = field(default_factory=_folder)
    filled: bool = False
    """Whether an earlier process of the same configuration filled them on purpose."""
    users: int = 0

    def ready(self) -> None:
        """Empty it, unless it was filled on purpose: an interrupted start must not warm the next one."""
        if not self.filled:
            self.remove()
        self.path.mkdir(exist_ok=True)

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)


class Caches:
    """The cache folders of a group while it is measured; replicas share none.

    One more folder is that of the references with which the verifications of the members compare.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._wanted = {sibling_key(member.entry) for member in members if member.entry.config.cache == "warm"}
        self._kept: dict[tuple[Key, int], Scratch] = {}
        self._several = len({member.entry.key for member in members}) > 1
        self._shared: Scratch | None = None

    def shared(self) -> str | None:
        """Return the folder of the references, made at its first use; None where no other member could read them."""
        if self._shared is None and self._several:
            self._shared = Scratch()
        return str(self._shared.path) if self._shared else None

    def open(self, entry: PlanEntry, replica: int) -> Scratch:
        """Return the folder to measure with; for a warm experiment the filled one, where there is one."""
        filled = self._kept.pop((sibling_key(entry), replica), None) if entry.config.cache == "warm" else None
        scratch = filled or Scratch()
        scratch.users += 1
        return scratch

    def fill(self, entry: PlanEntry, replica: int, scratch: Scratch) -> None:
        """Keep the folder of a cold process that has compiled for its warm sibling, where there is one."""
        config, key = entry.config, (sibling_key(entry), replica)
        if config.cache == "cold" and key[0] in self._wanted and key not in self._kept and _cold_fills(config):
            scratch.filled = True
            self._kept[key] = scratch

    def close(self, scratch: Scratch) -> None:
        """Delete the folder once no process uses it and it is kept for no warm sibling."""
        scratch.users -= 1
        if not scratch.users and scratch not in self._kept.values():
            scratch.remove()

    def discard(self) -> None:
        """Delete the folders that no warm sibling has used, and those of runs that were killed."""
        for scratch in (*self._kept.values(), *([self._shared] if self._shared else ())):
            scratch.remove()
        sweep()


def _cold_fills(config: ExperimentConfig) -> bool:
    """Say whether a cold process leaves what a warm one reads: not where the cache is off while measuring cold."""
    backend, anywhere = backend_of(config.xla, config.dynamo, config.torch_xla2), Path("anywhere")
    cold, warm = (msgspec.structs.replace(config, cache=cache) for cache in ("cold", "warm"))
    return dict(backend.variables(cold, anywhere)) == dict(backend.variables(warm, anywhere))
