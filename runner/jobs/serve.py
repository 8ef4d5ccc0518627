"""The loop of a worker: sleeps until it is told, a job ends, a signal comes, or a modest time is over."""

from __future__ import annotations

import contextlib
import hashlib
import os
import selectors
import signal
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.jobs import wake
from runner.schedule import devices
from store.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.jobs.worker import Worker
    from runner.schedule.devices import Owner

LOCAL = "local"
EXECUTORS = (LOCAL, "ray")

TICK_S = 3.0
"""Between two looks where nothing happens: for devices that others gave back, and what nobody told."""


def owner(home: Path, executor: str = LOCAL) -> Owner | None:
    """Return the worker of a home on this host that has this executor; None where none runs."""
    return devices.owner(_lock(home, executor))


def has_worker(home: Path) -> bool:
    """Say whether anybody on this host carries a home's jobs out, here or on a cluster."""
    return any(owner(home, executor) is not None for executor in EXECUTORS)


def lacks_confirmer(home: Path) -> bool:
    """Say whether a home's jobs are carried out on a cluster alone: nobody there has the store to compare in."""
    return has_worker(home) and owner(home) is None


@contextlib.contextmanager
def only_one(home: Path, executor: str = LOCAL) -> Iterator[str | None]:
    """Be the worker of a home on this host with this executor while the block runs; gives None, else who is."""
    got = devices.take([_lock(home, executor)], f"worker of {home.resolve()}")
    if isinstance(got, str):
        found = owner(home, executor)
        yield f"process {found.pid}" if found else "another process"
        return
    try:
        yield None
    finally:
        devices.release(got)


def _lock(home: Path, executor: str) -> str:
    kind = "" if executor == LOCAL else f"{executor}-"
    return devices.of_worker(kind + hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:16])


@dataclass
class Loop:
    """Runs a worker until SIGTERM or SIGINT; jobs go on without it."""

    worker: Worker
    beside: Callable[[], None] = lambda: None
    """Called after each step."""
    drain: bool = False
    """At the signal wait for the jobs that go on; at a second one end at once."""
    _signals: int = 0

    def run(self, ready: Callable[[], None]) -> None:
        """Work until a signal says otherwise; `ready` is called once the worker can be told."""
        told = wake.listen(self.worker.home)
        with self._hearing() as heard:
            ready()
            try:
                while not self._is_over():
                    self._step()
                    self._sleep(told, heard)
            finally:
                os.close(told)

    def _is_over(self) -> bool:
        if not self._signals:
            return False
        self.worker.draining = True
        return not self.drain or self._signals > 1 or self.worker.is_idle()

    def _step(self) -> None:
        """Do what there is to do; a table that is locked or a full disk is met again at the next step."""
        try:
            self.worker.step()
            self.beside()
        except (RunnerError, StateError, sqlite3.Error, OSError) as error:
            self.worker.say(f"worker: {error}")

    def _sleep(self, told: int, heard: int) -> None:
        with selectors.DefaultSelector() as selector:
            for handle in {told, heard, *self.worker.executor.descriptors()}:
                selector.register(handle, selectors.EVENT_READ)
            selector.select(TICK_S)
        wake.drain(told)
        wake.drain(heard)

    @contextlib.contextmanager
    def _hearing(self) -> Iterator[int]:
        """Count signals; gives a descriptor that becomes readable at one."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        old_wakeup = signal.set_wakeup_fd(writing)
        numbers = (signal.SIGTERM, signal.SIGINT)
        old = {number: signal.signal(number, self._count) for number in numbers}
        try:
            yield reading
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wakeup)
            os.close(reading)
            os.close(writing)

    def _count(self, number: int, frame: object) -> None:
        del number, frame
        self._signals += 1
