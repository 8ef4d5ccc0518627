"""A trial: threads that work on the cores as a step does, in turns that the rule of benchmark processes judges.

`python -m runner.doctor.trial --threads N` is the process that works: it takes a turn for each line that it reads,
and reports the facts of the turn as a line of JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO

import msgspec

from runner.environments.others import Others
from runner.messages import TurnFacts
from runner.process.own_process import LIBRARIES, Waits, raise_priority
from runner.process.probes import Probe
from runner.schedule.quiet import Judge, QuietRun
from runner.settings import Settings
from store.record import Turns

TURN_S = 0.1
"""A turn is as long as the shortest window over which others are seen."""
TURNS = 10
"""Number of quiet turns that the trial needs."""
SPEED_TURNS = 30
"""Turns, those included, that show whether cores keep their speed: shared ones change it within seconds, not tenths."""
_HASHES = 50_000
"""About 20 ms of work."""
_KEY = ("trial",)
_WITHOUT_OWN_WAITS = 1000
"""More than the trial has turns, so that what it learns does not count."""
_MODULE = "runner.doctor.trial"


class Begun(msgspec.Struct, frozen=True):
    """The first message of the working process, before its first turn."""

    policy: str
    """How its threads wait and at which priority, as in a record."""
    waits_reported: bool
    """Whether the kernel reports how long each thread waited for a core."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the turns of a trial met."""

    begun: Begun
    turns_n: int
    quiet_n: int
    wait_share: float | None
    """The median over turns; None where the kernel does not tell."""
    refusal: str | None
    """Why a result of such turns would be refused, and what to do; None where it would be one."""
    turns: Turns
    """Facts of each turn."""

    @property
    def raised(self) -> bool:
        """Say whether the priority is above that of other programs."""
        return self.begun.policy != LIBRARIES


def take(threads: int, others: Others) -> Trial:
    """Take as many quiet turns as a result rests on, within the bounds of a benchmark process; judge them.

    Args:
        threads: threads that work at the same time.
        others: measures other programs; its last look is at least half a second ago.
    """
    run = QuietRun(others=others)
    if threads <= len(os.sched_getaffinity(0)):
        # Threads with a core for each and without a lock wait for nobody but others.
        for _ in range(_WITHOUT_OWN_WAITS):
            run.own_waits.add((*_KEY, LIBRARIES), 0.0)
    judge = Judge(settings=Settings(repeat=TURNS), planned=TURNS, run=run, key=_KEY, policy=LIBRARIES)
    # A session of its own, as benchmark processes have: where the kernel shares CPUs among sessions, it counts.
    command = [sys.executable, "-m", _MODULE, "--threads", str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        assert process.stdout is not None  # noqa: S101 - as above
        begun = msgspec.json.decode(process.stdout.readline(), type=Begun)
        judge.begin()
        while judge.quiet_n < judge.planned and judge.may_go_on():
            judge.judge(len(judge.turns.reason), _turn(process.stdin, process.stdout))
        while judge.refusal() is None and len(judge.turns.reason) < SPEED_TURNS:
            judge.judge(len(judge.turns.reason), _turn(process.stdin, process.stdout))
    shares = [share for share in judge.turns.wait_share if share is not None]
    return Trial(
        begun=begun,
        turns_n=len(judge.turns.reason),
        quiet_n=judge.quiet_n,
        wait_share=statistics.median(shares) if shares else None,
        refusal=judge.refusal(),
        turns=judge.turns,
    )


def _turn(ask: IO[bytes], answers: IO[bytes]) -> TurnFacts:
    ask.write(b"\n")
    ask.flush()
    return msgspec.json.decode(answers.readline(), type=TurnFacts)


@dataclass
class _Worker:
    """Takes turns; its threads stay alive, so that what each has waited stays known."""

    threads: int
    pool: ThreadPoolExecutor
    waits: Waits = field(default_factory=Waits)
    probe: Probe = field(default_factory=Probe)

    def turn(self) -> TurnFacts:
        """Work on all threads for the time of a turn, between two probes of the cores."""
        probes = [self.probe.take()]
        before, began = self.waits.read(), time.perf_counter()
        list(self.pool.map(_work, [began + TURN_S] * self.threads))
        seconds, after = time.perf_counter() - began, self.waits.read()
        waited = self.waits.between(before, after)
        probes.append(self.probe.take())
        return TurnFacts(blocks=1, seconds=seconds, wait_s=waited.largest_s if waited else None, probes=probes)


def _work(until: float) -> None:
    """Compute until a time, in calls that are free of the interpreter's lock: a thread that waits for it sleeps."""
    while time.perf_counter() < until:
        hashlib.pbkdf2_hmac("sha256", b"work", b"of a step", _HASHES)


def main() -> None:
    """Take a turn per line of the input until it ends."""
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    threads = parser.parse_args().threads
    begun = Begun(policy=raise_priority(), waits_reported=any(Waits().read()))
    _send(begun)
    with ThreadPoolExecutor(threads) as pool:
        worker = _Worker(threads, pool)
        # The first turn imports modules and starts threads, so it is not judged.
        worker.turn()
        for _ in sys.stdin:
            _send(worker.turn())


def _send(message: Begun | TurnFacts) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
