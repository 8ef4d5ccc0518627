"""The messages to one measuring process, in order.

A script is a generator: it yields where the process may be stopped while others run, and is sent the number of the
round in which it continues. A process that is never stopped is led through its script without a break.
"""

from __future__ import annotations

from collections.abc import Generator

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
    ProcessReport,
    Prove,
    Turn,
    TurnDone,
    Verify,
    WarmUp,
)
from runner.schedule.benchmark_process import BenchmarkProcess, Script
from runner.schedule.outcome import Outcome
from runner.schedule.quiet import TRIES_PER_ROUND, Judge, latency_bounds


def timing(
    process: BenchmarkProcess,
    load: Load,
    turns: tuple[int, ...],
    rewarm: int = 0,
    key: tuple[str | None, ...] = (),
) -> Script:
    """Load, warm up, take turns, report.

    Args:
        process: the timed process.
        load: its first message.
        turns: blocks of each turn.
        rewarm: blocks before those of each turn.
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
        gpu=Gpu(gpu.number(settings.device_index)) if load.config.accelerator == "cuda" else None,
    )
    failed = yield from _measure(process, judge, turns, rewarm)
    judge.save()
    report = failed or process.ask(Finish(judge.disturbed))
    if isinstance(report, Failed):
        return process.failed(report)
    return _finished(process, report, judge)


def questions(process: BenchmarkProcess, commands: tuple[Load | WarmUp | Verify | Prove | Instrument, ...]) -> Script:
    """Ask a process that is not timed one command after the other; the last answer is its outcome."""
    yield from ()  # it is never stopped
    for command in commands:
        answer = process.ask(command)
        if isinstance(answer, Failed):
            return process.failed(answer)
    return Outcome(status="ok", answer=answer)


def _measure(
    process: BenchmarkProcess, judge: Judge, turns: tuple[int, ...], rewarm: int
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
            answer, quiet = _turn(process, judge, Turn(blocks, round_number, rewarm))
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


def _finished(process: BenchmarkProcess, report: ProcessReport, judge: Judge) -> Outcome:
    """Return the outcome of a timed process that has reported."""
    quiet, disturbed = judge.report(), judge.refusal()
    outcome = Outcome(status="ok", loaded=process.loaded, report=report, quiet=quiet)
    if "steady" not in report.kinds and disturbed is None:
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
    return outcome
