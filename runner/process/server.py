"""The fork server: imports torch once, then forks one benchmark process per request.

It runs no tensor operation and holds no compile workers: after one multi-threaded operation here, a child's
next one would hang in libgomp. Run as `python -m runner.process.server`, with the control socket as the descriptor
named by `--control`; with `--single`, the interpreter itself becomes the benchmark process, which answers the
scheduler's messages one after the other.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from typing import Any

import msgspec

from runner import failure, processes
from runner.backends import dynamo
from runner.messages import (
    CONTROL_BYTES,
    Channel,
    Closed,
    Command,
    Exactly,
    Exited,
    Failed,
    Finish,
    Fork,
    Forked,
    Hello,
    Instrument,
    Load,
    MeasuredTimes,
    Pause,
    Paused,
    Progress,
    Prove,
    Proved,
    Turn,
    Verified,
    Verify,
    WarmUp,
)
from runner.process import toolchain
from runner.process.measure import ExperimentMeasurement, effective_variables
from runner.suites import FOLDER, in_folder
from store.record import Phase

_MAX_FDS = 2


def preload(modules: list[str]) -> float:
    """Import torch and what the plan's backends and suites need; return seconds."""
    began = time.perf_counter()
    # Compile workers started here would not survive the fork.
    os.environ.setdefault("TORCH_WARM_POOL", "0")
    gc.disable()  # imported objects stay, and searching them takes a sixth of the time
    importlib.import_module("torch")
    for name in modules:
        # A module that is missing here is reported by the experiment that needs it.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.enable()
    return time.perf_counter() - began


def use_once() -> None:
    """Do what takes a process milliseconds the first time: find our suites, read the platform, seed the generators.

    The last reads the source lines of its callers, for a device that is not there yet. None is a tensor operation.
    """
    in_folder(FOLDER)
    effective_variables()
    # What fails here fails again, and is reported, in the experiment that needs it.
    with contextlib.suppress(Exception):
        from runner.suites.building import seed_everything

        seed_everything(0)


class Server:
    """Forks on request and reports every exit, until its scheduler ends."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, int] = {}
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)

    def serve(self, hello: Hello) -> None:
        processes.become_subreaper()  # of what a benchmark process leaves that dies
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._send(hello)
        selector = selectors.DefaultSelector()
        selector.register(self._control, selectors.EVENT_READ)
        selector.register(self._wake_read, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is self._control:
                    self._request()
                else:
                    os.read(self._wake_read, CONTROL_BYTES)
            self._reap()

    def _send(self, message: Hello | Forked | Exited) -> None:
        try:
            self._control.send(msgspec.msgpack.encode(message))
        except OSError:
            self._end()

    def _request(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, CONTROL_BYTES, _MAX_FDS)
        if not data:
            self._end()
        request = msgspec.msgpack.decode(data, type=Fork)
        channel, log = descriptors
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_child(parent, channel, log, request.variables)
        os.close(channel)
        os.close(log)
        self._children[pid] = request.child
        self._send(Forked(request.child, pid))

    def _become_child(self, parent: int, channel: int, log: int, variables: dict[str, str]) -> None:
        os.setsid()
        processes.die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        self._control.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
        measure(channel, log, variables)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            number = self._children.pop(pid, None)
            if number is not None:
                processes.kill_orphans(self._children)
                self._send(Exited(number, status))

    def _end(self) -> None:
        """Kill every process below this one and leave."""
        processes.kill_orphans()
        os._exit(0)


def measure(channel: int, log: int, variables: dict[str, str]) -> None:
    """Become a benchmark process on the given descriptors; never return."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(variables)
    gc.enable()
    # What a model starts stays below this process, in whatever session and environment, and ends with it.
    processes.become_subreaper()
    code = 0
    conversation = Channel(socket.socket(fileno=channel))
    # A copy of this process that the model's code forks would answer the scheduler's messages, too.
    os.register_at_fork(after_in_child=conversation.close)
    try:
        obey_scheduler(conversation)
    except BaseException:  # noqa: BLE001 - a forked process must never return into the server's loop
        code = 1
        with contextlib.suppress(Exception):
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the model may have closed or replaced it
            stream.flush()
    processes.kill_orphans()
    # Interpreter shutdown after torch_xla can hang or crash, and everything has been reported.
    os._exit(code)


def obey_scheduler(channel: Channel) -> None:
    """Answer messages until `finish` or until the channel closes; every failure is reported first."""
    measurement: ExperimentMeasurement | None = None
    phase: Phase = "load"

    def enter(name: Phase) -> None:
        nonlocal phase
        phase = name
        channel.send(Progress(name))

    try:
        while True:
            command = channel.receive(Command)
            if isinstance(command, Verify | Prove | Instrument):
                _extra(command, channel, enter)
                return
            if isinstance(command, Load):
                enter("load")
                measurement = ExperimentMeasurement(command)
                channel.send(measurement.load())
            elif measurement is None:
                raise RuntimeError("the first message must be `load`")  # noqa: TRY301 - reported to the scheduler below
            elif _obey(command, measurement, channel, enter):
                return
    except Closed:
        return
    except BaseException as error:  # noqa: BLE001 - the scheduler has to learn of everything
        _fail(channel, phase, error, measurement)


def _extra(command: Verify | Prove | Instrument, channel: Channel, enter: Any) -> None:
    """Do what an extra process is for; it answers once."""
    if isinstance(command, Verify):
        from runner.verify.process import verify

        enter("verify")
        found = verify(command.load, command.timed_results, command.shared)
        channel.send(Verified(found, _of_dynamo(command.load)))
    elif isinstance(command, Prove):
        from runner.proof.process import prove

        enter("measure")
        channel.send(Proved(prove(command.load)))
    else:
        from runner.instrument.process import instrument

        enter("profile")
        channel.send(instrument(command))


def _of_dynamo(load: Load) -> dict[str, Any]:
    """Return dynamo's counters and compile time, as the timed process reports them; nothing of other backends."""
    if not load.config.dynamo or not load.settings.collect_dynamo_counters:
        return {}
    seconds = dynamo.compile_time_s()
    own = {"dynamo_compile_time_s": [seconds]} if seconds is not None else {}
    return {"dynamo_counters": [dynamo.counters()], **own}


def _obey(command: Any, measurement: ExperimentMeasurement, channel: Channel, enter: Any) -> bool:
    """Carry out one message after loading; return whether it was the last."""
    if isinstance(command, WarmUp | Exactly):
        if not measurement.has_begun:
            enter(measurement.first_phase)
            measurement.first()
        enter("warmup")
        answer = measurement.warm_up() if isinstance(command, WarmUp) else measurement.exactly(command.blocks)
        channel.send(answer)
    elif isinstance(command, Turn):
        enter("measure")
        channel.send(measurement.turn(command))
    elif isinstance(command, Pause):
        measurement.pause()
        channel.send(Paused())
    elif isinstance(command, Finish):
        measurement.label(command.disturbed)
        report = measurement.report(finished=True)
        channel.send(MeasuredTimes(report))
        enter("verify")
        channel.send(measurement.examine(report))
        return True
    return False


def _fail(channel: Channel, phase: Phase, error: BaseException, measurement: ExperimentMeasurement | None) -> None:
    report = None
    if measurement is not None and phase not in ("load", "compile"):
        # A device that failed may not answer any more; the first error is the one to report.
        with contextlib.suppress(Exception):
            report = measurement.report()
    channel.send(Failed(status=failure.status_of(phase, error), error=failure.describe(phase, error), report=report))


def main() -> None:
    """Import, probe, say hello, serve."""
    parser = argparse.ArgumentParser(prog="python -m runner.process.server", description=__doc__)
    parser.add_argument("--control", type=int, required=True, help="descriptor of the control socket or channel")
    parser.add_argument("--single", type=int, metavar="LOG", help="measure here; descriptor of the log")
    parser.add_argument("--parent", type=int, required=True, help="pid of the scheduler")
    parser.add_argument("--probe", action="store_true", help="do inductor's one-time toolchain work")
    parser.add_argument("--preload", action="append", default=[], help="module to import, if it can be")
    arguments = parser.parse_args()
    sig = signal.SIGKILL if arguments.single is not None else signal.SIGTERM
    processes.die_with_parent(arguments.parent, sig)
    import_s = preload(arguments.preload)
    gc.disable()
    probe_s = toolchain.prepare() if arguments.probe else None
    gc.enable()
    # Torch has written a module of its RPC into a folder: no exit handler, which would delete it, runs in this process.
    if folder := getattr(sys.modules.get("torch.distributed.nn.jit.instantiator"), "_TEMP_DIR", None):
        folder.cleanup()
    use_once()
    if arguments.single is not None:
        measure(arguments.control, arguments.single, {})
    # What is alive now stays alive: without this the first collection in a child copies all of it.
    gc.collect()
    gc.freeze()
    Server(socket.socket(fileno=arguments.control)).serve(Hello(import_s=import_s, probe_s=probe_s))


if __name__ == "__main__":
    main()
