"""One member of a group in one replica, as the scheduler carries it out: its folder, its caches, its processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from runner import failure
from runner.backends import backend_of, thread_variables
from runner.environments import others
from runner.environments.others import Gpu
from runner.messages import (
    Exactly,
    Failed,
    Finish,
    Instrument,
    Load,
    ProcessReport,
    Prove,
    Turn,
    TurnDone,
    Verify,
    WarmUp,
)
from runner.schedule.benchmark_process import BenchmarkProcess, Caches, Scratch, Script
from runner.schedule.delays import latency_bounds, without_delays
from runner.schedule.groups import Member
from runner.schedule.outcome import Outcome, RunFacts
from runner.schedule.pool import Pool
from runner.schedule.progress import ProgressView
from runner.schedule.quiet import TRIES_PER_ROUND, Judge
from runner.settings import Settings
from store.record import Artifact, ExperimentConfig, PlanEntry

ARTIFACTS = "artifacts"
_HASH_CHARACTERS = 8
_NAME_CHARACTERS = 100


def artifacts_folder(run_folder: Path, entry: PlanEntry) -> Path:
    """Return the experiment's folder, made if need be; the hash keeps equal names apart."""
    config = entry.config
    readable = [config.suite_name, config.model_name, config.test, entry.variant]
    if entry.environment != "default":
        readable.append(entry.environment)
    name = re.sub(r"[^A-Za-z0-9._+=-]+", "-", "-".join(readable))[:_NAME_CHARACTERS].strip("-.")
    folder = run_folder / ARTIFACTS / f"{name}-{entry.experiment_id[:_HASH_CHARACTERS]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(kw_only=True, eq=False)
class ReplicaJob:
    """A member of a group in one of its replicas: its folder, its caches, the process that is timed, and the others."""

    member: Member
    replica: int
    attempt: int
    run_folder: Path
    folder: Path
    """Folder of its artifacts; both paths are absolute."""
    batch_size: int | None
    facts: RunFacts
    pool: Pool
    progress: ProgressView
    caches: Caches
    process: BenchmarkProcess | None = None
    """The timed process; None if its caches could not be filled."""
    primed: Outcome | None = None
    """The outcome of a process that failed to fill its caches."""
    crowded: bool = False
    """Whether it ran out of memory while other processes held some: that is no result."""
    logs: list[Path] = field(default_factory=list)
    """Logs of its processes, in the order of their starts."""
    _scratch: Scratch | None = None
    """The caches of the timed process, from its first try until it is recorded."""

    @property
    def outcome(self) -> Outcome | None:
        return self.process.outcome if self.process else self.primed

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.outcome is None

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
            torchbench_dir=str(self.facts.torchbench_dir) if self.facts.torchbench_dir else None,
            requested_at=0.0,
            own=self.facts.own.get(self.config.model_name) if self.config.source else None,
        )

    def run_facts(self) -> RunFacts:
        """Return what its record shares with others, with what the server said when its first process was asked for."""
        return replace(self.facts, hello=self.pool.hello if self.settings.start == "fork" else None)

    def timed(self, *, stops: bool = False) -> BenchmarkProcess | None:
        """Return the process that is timed, not yet started; None where its caches could not be filled.

        Args:
            stops: it is stopped between its turns, while others take theirs.
        """
        scratch = self._ready()
        if self.config.cache == "warm" and not scratch.filled:
            # No sibling has filled them: a process of the same configuration does.
            ask = partial(questions, commands=(self.load(), WarmUp()))
            primer = self._process("primer", ask, lambda: self._variables(scratch)).run()
            if primer.error is not None:
                self.primed = primer
                return None
            scratch.filled = True
        results = self.results_file
        load = msgspec.structs.replace(self.load(), results=str(results) if results else None)
        script = partial(timing, load=load, turns=self.settings.turns(), stops=stops, key=self._waiting_key)
        self.process = self._process("timed", script, lambda: self._variables(self._ready()))
        self.process.accelerator = self.config.accelerator
        return self.process

    def keep_caches(self) -> None:
        """Keep the caches for a warm sibling, once the process has compiled."""
        if self._scratch is not None:
            self.caches.fill(self.entry, self.replica, self._scratch)

    def leave(self) -> None:
        """End the timed process, whatever it was doing, and give its caches back."""
        if self.process is not None:
            self.process.drop()
        if self._scratch is not None:
            self.caches.close(self._scratch)
            self._scratch = None

    def _ready(self) -> Scratch:
        """Return the caches for a start; a restarted cold process does not reuse those that it kept for its sibling."""
        if self._scratch is not None and self._scratch.filled and self.config.cache == "cold":
            self.caches.close(self._scratch)
            self._scratch = None
        if self._scratch is None:
            self._scratch = self.caches.open(self.entry, self.replica)
        return self._scratch

    @property
    def _waiting_key(self) -> tuple[str | None, ...]:
        """Return the key of processes whose threads wait for each other alike."""
        environment = self.facts.environment
        return (*self.member.key[:2], environment.machine_id, environment.torch, environment.torch_xla)

    def lead_extra(
        self, name: str, command: Verify | Prove | Instrument, more: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run an extra process with caches of its own, which are deleted afterwards.

        A verification has those of the timed process: what it compiles alike is the code that was timed.
        """
        compiled = self._compiled() if isinstance(command, Verify) else None
        scratch = compiled or Scratch()
        try:
            ask = partial(questions, commands=(command,))
            return self._process(name, ask, lambda: {**self._variables(scratch), **(more or {})}).run()
        finally:
            if compiled is None:
                scratch.remove()

    def _compiled(self) -> Scratch | None:
        """Return the caches that the timed process has filled; None where it failed, or where others use them."""
        outcome, scratch = self.outcome, self._scratch
        if scratch is None or scratch.filled or outcome is None or outcome.error is not None:
            return None
        scratch.filled = True
        return scratch

    def log_artifacts(self) -> list[Artifact]:
        """Return the logs that have been written."""
        return [
            Artifact(kind="log", path=str(log.relative_to(self.run_folder)), bytes=log.stat().st_size)
            for log in self.logs
            if log.exists()
        ]

    def _process(
        self, name: str, script: Callable[[BenchmarkProcess], Script], variables: Callable[[], Mapping[str, str]]
    ) -> BenchmarkProcess:
        which = ("-twin" if self.member.twin else "") + (f"-{self.replica}" if self.replica else "")
        log = self.folder / f"attempt-{self.attempt}-{name}{which}.log"
        self.logs.append(log)
        return BenchmarkProcess(
            pool=self.pool, settings=self.settings, progress=self.progress, script=script, log=log, variables=variables
        )

    def _variables(self, scratch: Scratch) -> Mapping[str, str]:
        scratch.ready()
        config, threads = self.config, self.settings.threads
        of_backend = backend_of(config.xla, config.dynamo, config.torch_xla2).variables(config, scratch.path)
        return {**of_backend, **thread_variables(config, threads)}


# The messages to one benchmark process, in order.
#
# A script is a generator: it yields where the process may be stopped while others run, and is sent the number of the
# round in which it continues. A process that is never stopped is led through its script without a break.


def timing(
    process: BenchmarkProcess,
    load: Load,
    turns: tuple[int, ...],
    *,
    stops: bool = True,
    key: tuple[str | None, ...] = (),
) -> Script:
    """Load, warm up, take turns, report.

    Args:
        process: the timed process.
        load: its first message.
        turns: blocks of each turn.
        stops: it is stopped between its turns.
        key: identifies the experiment for the judge; processes with the same key wait alike.
    """
    answer = process.ask(msgspec.structs.replace(load, requested_at=process.requested_at))
    if isinstance(answer, Failed):
        return process.failed(answer)
    process.loaded = answer
    settings = process.settings
    judge = process.judge = Judge(
        settings=settings,
        planned=len(turns),
        run=process.pool.quiet,
        key=key,
        policy=answer.policy,
        accelerator=load.config.accelerator,
        gpu=Gpu(others.gpu_number(settings.device_index)) if load.config.accelerator == "cuda" else None,
    )
    process.of_report = partial(_finished, process, judge)
    failed = yield from _measure(process, judge, turns, stops=stops)
    judge.save()
    report = failed or process.ask(Finish(judge.disturbed))
    return process.failed(report) if isinstance(report, Failed) else process.of_report(report)


def questions(process: BenchmarkProcess, commands: tuple[Load | WarmUp | Verify | Prove | Instrument, ...]) -> Script:
    """Ask a process that is not timed one command after the other; the last answer is its outcome."""
    yield from ()  # it is never stopped
    for command in commands:
        answer = process.ask(command)
        if isinstance(answer, Failed):
            return process.failed(answer)
    return Outcome(status="ok", answer=answer)


def _measure(
    process: BenchmarkProcess, judge: Judge, turns: tuple[int, ...], *, stops: bool
) -> Generator[None, int, Failed | None]:
    """Warm up and take the turns, all again where a compilation falls among them; return a failure.

    A process that is not stable after them continues with turns as long as the last one, and so does one of which
    turns were disturbed, within the bounds of the rule.
    """
    if process.settings.preset == "peer":
        judge.begin()
        answer = process.ask(Exactly(process.settings.repeat))
        if isinstance(answer, Failed):
            return answer
        judge.judge(0, answer.facts)
        return None
    while process.wants_turn:
        answer = process.ask(WarmUp())
        if isinstance(answer, Failed):
            return answer
        if not answer.steady:
            return None
        judge.begin()
        round_number, taken = (yield), 0
        while process.wants_turn:
            blocks = turns[min(taken, len(turns) - 1)]
            answer, quiet = _turn(process, judge, Turn(blocks, round_number, process.settings.rewarm, stops))
            if isinstance(answer, Failed):
                return answer
            if not answer.steady:
                break
            taken = judge.quiet_n
            wanted = taken < len(turns) or not answer.enough
            process.wants_turn = wanted and (quiet or judge.may_go_on())
            round_number = yield
    return None


def _turn(process: BenchmarkProcess, judge: Judge, turn: Turn) -> tuple[TurnDone | Failed, bool]:
    """Take the turn of a round, at once again where it was disturbed; return its answer and whether it is quiet."""
    for _ in range(TRIES_PER_ROUND):
        answer = process.ask(msgspec.structs.replace(turn, disturbed=judge.disturbed))
        if isinstance(answer, Failed) or not answer.steady:
            return answer, False
        quiet = judge.judge(turn.round, answer.facts)
        if quiet or not judge.may_go_on():
            break
    return answer, quiet


def _finished(process: BenchmarkProcess, judge: Judge, report: ProcessReport) -> Outcome:
    """Return the outcome of a timed process that has reported."""
    quiet, disturbed = judge.report(), judge.refusal()
    outcome = Outcome(status="ok", loaded=process.loaded, report=report, quiet=quiet)
    if "steady" not in report.blocks.kind and disturbed is None:
        outcome.status = "never_steady"
    elif report.invalid:
        error = failure.describe("measure", RuntimeError(report.invalid))
        error.type, error.traceback = "InvalidMeasurement", None
        outcome.status, outcome.error = "invalid", error
    elif disturbed is not None:
        if quiet is not None:
            bounds = latency_bounds(report, quiet.turns.reason, judge.settings.iterations_per_run)
            quiet.at_least_s, quiet.at_most_s = bounds or (None, None)
        outcome.status, outcome.disturbed = "disturbed", disturbed
    else:
        outcome.report = without_delays(report, judge.turns, judge.removed_shares)
    return outcome
