"""Benchmark processes as the scheduler sees them: start, talk with a deadline, learn how they ended, kill."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from runner import processes
from runner.errors import ServerFailed
from runner.messages import (
    CONTROL_BYTES,
    Answer,
    Channel,
    Closed,
    Exited,
    Fork,
    Forked,
    Hello,
    MeasuredTimes,
    ProcessReport,
    Progress,
    ServerAnswer,
)
from runner.schedule.memory import tree_bytes
from runner.schedule.quiet import QuietRun
from store.errors import Signal
from store.record import Phase

_SERVER_START_S = 600.0
_EXIT_S = 10.0
_WATCH_EVERY_S = 0.2
_TAIL_BYTES = 2000


class ChildGone(Signal):
    """The benchmark process ended while an answer was due."""


class TimedOut(Signal):
    """The experiment's time is over."""


class ServerGone(Signal):
    """The fork server died; the experiment is not to blame."""


@dataclass
class Process:
    """One benchmark process."""

    number: int
    pid: int
    channel: Channel
    log: Path
    popen: subprocess.Popen[bytes] | None = None
    """Set if the process is a new interpreter instead of a fork."""
    server: subprocess.Popen[bytes] | None = None
    """The fork server that it comes from, else."""
    phase: Phase = "load"
    measured: ProcessReport | None = None
    """What it has timed, once it has said so."""
    born: float | None = None
    """Its start as the kernel reports it: with another start, the same pid is another process."""


_KEEP_CUDA_FOR_FORKS = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""Lets `torch.cuda.is_available()`, which inductor calls as it is imported, ask NVML: asking CUDA's runtime would keep
CUDA from every process that the server forks."""


@dataclass
class Pool:
    """The warm server of one environment and the processes started from it (or each from a new interpreter)."""

    run_id: str
    python: str
    preload: tuple[str, ...]
    probe: bool
    start: str
    log: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    """What its processes' environment holds over this process's own."""
    servers: set[int] = field(default_factory=set)
    """Pids of the servers of all pools of the run: sweeping up behind one leaves the others alone."""
    live: set[int] = field(default_factory=set)
    """Pids of the benchmark processes of all pools that have not been collected: they and all below them are spared."""
    quiet: QuietRun = field(default_factory=QuietRun)
    """Shared by all pools of the run: what disturbs its turns."""
    hello: Hello | None = None
    server: subprocess.Popen[bytes] | None = None
    _control: socket.socket | None = None
    _exited: dict[int, int] = field(default_factory=dict)
    _next: int = 0
    _own: set[int] = field(default_factory=set)
    """Processes of `live` that this pool started."""

    def prepare(self, start: str | None = None) -> None:
        """Have the server ready where processes are forked, so that no experiment pays for its start."""
        if (start or self.start) != "fork" or self.server is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, self.log.open("ab") as sink:
            self.server = self._interpreter(theirs, sink)
        self.servers.add(self.server.pid)
        self._control = ours
        try:
            answer = self._server_answer(time.monotonic() + _SERVER_START_S)
        except (ServerGone, TimedOut) as error:
            self.stop()
            raise ServerFailed(f"The fork server ended while it imported torch: {tail(self.log)}") from error
        self.hello = answer if isinstance(answer, Hello) else None

    def spawn(self, variables: Mapping[str, str], log: Path, start: str | None = None) -> Process:
        """Start a benchmark process that prints into `log`; `start` where it is not the pool's own."""
        process = self._spawn(variables, log, start or self.start)
        process.born = processes.start_time(process.pid)
        self._own.add(process.pid)
        self.live.add(process.pid)
        return process

    def _spawn(self, variables: Mapping[str, str], log: Path, start: str) -> Process:
        self._next += 1
        ours, theirs = socket.socketpair()
        with theirs, log.open("ab") as sink:
            if start == "interpreter":
                popen = self._interpreter(theirs, sink, variables)
                return Process(self._next, popen.pid, Channel(ours), log, popen)
            self.prepare(start)
            request = msgspec.msgpack.encode(Fork(child=self._next, variables=dict(variables)))
            assert self._control is not None  # noqa: S101 - `prepare` sets it or raises
            try:
                socket.send_fds(self._control, [request], [theirs.fileno(), sink.fileno()])
            except OSError as error:
                raise ServerGone from error
        return Process(self._next, self._await_fork(self._next), Channel(ours), log, server=self.server)

    def _interpreter(
        self, control: socket.socket, sink: BinaryIO, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start an interpreter that prints into `sink`: the server, or with `variables` a benchmark process."""
        command, passed = self._command(control.fileno()), [control.fileno()]
        if variables is not None:
            command, passed = [*command, "--single", str(sink.fileno())], [*passed, sink.fileno()]
        return subprocess.Popen(
            command,
            env=self._environment() | dict(variables or {}),
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )

    def _command(self, descriptor: int) -> list[str]:
        command = [self.python, "-m", "runner.process.server", "--control", str(descriptor)]
        command += ["--parent", str(os.getpid())]
        for module in self.preload:
            command += ["--preload", module]
        return [*command, "--probe"] if self.probe else command

    def _environment(self) -> dict[str, str]:
        fixed = {processes.TAG: self.run_id, "TORCH_WARM_POOL": "0", "HF_HUB_OFFLINE": "1", **_KEEP_CUDA_FOR_FORKS}
        return {**os.environ, **self.variables, **fixed}

    def _await_fork(self, number: int) -> int:
        deadline = time.monotonic() + _EXIT_S
        while True:
            try:
                answer = self._server_answer(deadline)
            except TimedOut as error:  # the server, not the experiment, does not answer
                raise ServerGone from error
            if isinstance(answer, Forked) and answer.child == number:
                return answer.pid

    def _server_answer(self, deadline: float) -> Any:
        """Wait for the server's next message; remember exits on the way."""
        assert self._control is not None  # noqa: S101 - callers have started the server
        _await_readable(self._control, deadline)
        data = b""
        with contextlib.suppress(OSError):
            data = self._control.recv(CONTROL_BYTES)
        if not data:
            raise ServerGone
        answer = msgspec.msgpack.decode(data, type=ServerAnswer)
        if isinstance(answer, Exited):
            self._exited[answer.child] = answer.status
        return answer

    def ask(
        self,
        process: Process,
        command: Any,
        deadline: float,
        on_phase: Callable[[str], None],
        watch: Callable[[], None] | None = None,
    ) -> Any:
        """Send a command and wait for its answer; `on_phase` is called as a phase begins, `watch` while it waits.

        Raises:
            ChildGone: the process ended.
            Garbled: something that is no message came through its channel.
            TimedOut: the deadline (CLOCK_MONOTONIC) has passed.
            ServerGone: the fork server ended.
        """
        try:
            process.channel.send(command)
            while True:
                answer = process.channel.receive(Answer, lambda: _await_readable(process.channel, deadline, watch))
                if isinstance(answer, MeasuredTimes):
                    process.measured = answer.report
                elif isinstance(answer, Progress):
                    process.phase = answer.phase
                    on_phase(answer.phase)
                else:
                    return answer
        except Closed as error:
            if process.server is not None and process.server.poll() is not None:
                raise ServerGone from error
            raise ChildGone from error

    def end(self, process: Process) -> int | None:
        """Collect the process and kill whatever it left; return its wait status, None if it is unknown."""
        process.channel.close()
        status = self._wait(process)
        processes.kill_tree(process.pid)
        self._own.discard(process.pid)
        self.live.discard(process.pid)
        self._sweep()
        return status

    def pause(self, process: Process) -> None:
        """Stop the process and everything below it."""
        if self._is_there(process):
            processes.stop_tree(process.pid)

    def resume(self, process: Process) -> None:
        """Let the process and everything below it go on."""
        if self._is_there(process):
            processes.continue_tree(process.pid)

    def held_bytes(self, process: Process) -> int:
        """Return the memory that the process and everything below it hold."""
        return tree_bytes(process.pid) if self._is_there(process) else 0

    def _is_there(self, process: Process) -> bool:
        return process.born is not None and processes.start_time(process.pid) == process.born

    def lost(self, process: Process | None) -> None:
        """End the server that failed under the process, or before there was one; a later server is not to blame."""
        if process is None or process.server is self.server:
            self.stop()

    def kill(self, process: Process) -> None:
        """Kill the process's whole tree, stopped or not."""
        processes.kill_tree(process.pid)

    def _wait(self, process: Process) -> int | None:
        deadline = time.monotonic() + _EXIT_S
        if process.popen is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.popen.wait(_EXIT_S)
                return -code if code < 0 else code << 8
            return None
        # A server that has ended reports no exits.
        while process.number not in self._exited and process.server is self.server:
            try:
                self._server_answer(deadline)
            except (ServerGone, TimedOut):
                break
        return self._exited.pop(process.number, None)

    def stop(self) -> None:
        """End the server and everything below it, and whatever else this pool has started."""
        self.live -= self._own
        self._own.clear()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self.server is not None:
            with contextlib.suppress(ProcessLookupError):
                self.server.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.wait(1.0)
            processes.kill_tree(self.server.pid)
            self.server.wait()
            self.servers.discard(self.server.pid)
            self.server = None
        self._sweep()

    def _sweep(self) -> None:
        """Kill whatever carries the run's tag, except the servers and the processes that live, with all below them."""
        below = (member.pid for pid in self.live for member in processes.tree(pid))
        keep = frozenset({*self.servers, *self.live, *below})
        processes.kill_tagged(self.run_id, keep)
        processes.reap_orphans(keep)


def _await_readable(source: socket.socket | Channel, deadline: float, watch: Callable[[], None] | None = None) -> None:
    """Return when there is something to read; raise `TimedOut` at the deadline (CLOCK_MONOTONIC)."""
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while True:
            left = max(0.0, deadline - time.monotonic())
            if selector.select(left if watch is None else min(left, _WATCH_EVERY_S)):
                return
            if time.monotonic() >= deadline:
                raise TimedOut
            if watch is not None:
                watch()


def tail(path: Path) -> str:
    """Return the last of what a log holds."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return log.read().decode(errors="replace").strip()
