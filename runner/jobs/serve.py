"""The loop of a worker: sleeps until it is told, a job ends, a signal comes, or a modest time is over."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.jobs import queue
from store.errors import XlabenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.jobs.worker import Worker


TICK_S = 3.0
"""Between two looks where nothing happens: for devices that others gave back, and what nobody told."""


@dataclass
class Loop:
    """Runs a worker until SIGTERM or SIGINT; jobs go on without it."""

    worker: Worker
    beside: Callable[[], None] = lambda: None
    """Called after each step."""
    drain: bool = False
    """Wait for the running jobs at the first signal, and end at once at the second."""
    _signals: int = 0

    def run(self, ready: Callable[[], None]) -> None:
        """Work until a signal says otherwise; `ready` is called once the worker can be told."""
        told = queue.listen(self.worker.home)
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
        except (XlabenchError, sqlite3.Error, OSError) as error:
            self.worker.say(f"worker: {error}")

    def _sleep(self, told: int, heard: int) -> None:
        with selectors.DefaultSelector() as selector:
            for handle in {told, heard, *self.worker.executor.descriptors()}:
                selector.register(handle, selectors.EVENT_READ)
            selector.select(TICK_S)
        queue.drain(told)
        queue.drain(heard)

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
