"""A process that has imported the rooms of the command, and forks one for each call: what a command costs is its work.

A call is a process as a user's is, with arguments, folder, environment and exit code of its own; only its imports are
done. Nothing runs before the fork: neither DuckDB nor Arrow has a thread then. It does not take the interpreter down at
its end: whole interpreters, from start to end, are in tests/test_interpreters.py. Only what measures is forked from a
process that has imported torch, too, for the fork server that it starts (tests/warm_server.py), and only a dashboard
from one that has imported Streamlit and the pages.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests import warm_server

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "xlabench",
    "pandas",
    "pyarrow.pandas_compat",
    "scipy.special",
    "duckdb",
    "store.answer",
    "store.changepoints",
    "store.compare",
    "store.ingest",
    "store.paired.read",
    "store.query",
    "store.report",
    "store.weekly.report",
    "runner.dynamo.harness",
    "runner.jobs.queue",
    "runner.schedule.execute",
)
DASHBOARD = "dashboard"
"""What a process has imported whose forks serve pages; a key of `warm_server.MODULES` is that of those that measure."""
_OF_PAGES = (
    "streamlit",
    "streamlit.web.server.starlette.starlette_websocket",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "dashboard.server",
    "dashboard.routes",
)
PATIENCE_S = 400.0
_LIMIT_BYTES = 1 << 20
_CODE = "-c"


class Call(NamedTuple):
    """What one process is told."""

    module: str
    """`-c` where the first word is a program."""
    words: Sequence[str]
    folder: str
    variables: Mapping[str, str]


def run(
    module: str,
    words: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = PATIENCE_S,
    imports: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE WORDS…` to its end, as `subprocess.run` would; keep what it said.

    Args:
        module: what runs.
        words: its arguments.
        cwd: the folder in which it runs.
        env: its environment.
        timeout: seconds.
        imports: a key of `warm_server.MODULES` where it starts a process with torch though it does not measure.

    Raises:
        subprocess.TimeoutExpired: it took longer; it is ended.
    """
    call = Call(module, [str(word) for word in words], str(cwd), dict(os.environ if env is None else env))
    measures = warm_server.imports_of(call.words) if module == "xlabench" else None
    return _done(call, measures or imports, timeout)


def program(
    code: str, *words: str, imports: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python -c CODE WORDS…` where the modules of `imports`, a key of `warm_server.MODULES`, are there already."""
    call = Call(_CODE, [code, *words], str(ROOT), dict(os.environ if env is None else env))
    return _done(call, imports, PATIENCE_S)


class Started:
    """A process that goes on: it is waited for, asked and ended as one of `subprocess.Popen` is."""

    def __init__(self, answers: socket.socket, said: IO[bytes]) -> None:
        self._answers, self._said = answers, said
        self.pid = int(answers.recv(_LIMIT_BYTES))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._answers.settimeout(timeout)
            try:
                self.returncode = int(self._answers.recv(_LIMIT_BYTES))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("a forked process", timeout or 0) from None
            self._answers.close()
        return self.returncode

    def says(self, text: str, times_n: int = 1) -> None:
        """Wait until it has said something so many times; its place in the file is not moved."""
        deadline = time.monotonic() + PATIENCE_S
        while os.pread(self._said.fileno(), _LIMIT_BYTES, 0).count(text.encode()) < times_n:
            assert self.poll() is None, self.communicate()[0]
            assert time.monotonic() < deadline, text
            time.sleep(0.05)

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for its end; return what it has said."""
        self.wait(timeout)
        self._said.seek(0)
        return self._said.read().decode(), None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def serve(
    module: str,
    words: Sequence[str | Path],
    said: IO[bytes],
    *,
    env: Mapping[str, str] | None = None,
    imports: str | None = DASHBOARD,
) -> Started:
    """Start `python -m MODULE WORDS…`, or `-c` and a program, where `imports` is imported; let it go on.

    What it says goes to the file `said`.
    """
    call = Call(module, [str(word) for word in words], str(ROOT), dict(os.environ if env is None else env))
    return Started(_begun(_started(imports), call, (said.fileno(), said.fileno())), said)


def _begun(control: socket.socket, call: Call, said: tuple[int, int]) -> socket.socket:
    """Have a call begun; return where its pid and its exit code will be told."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        _send(control, b"start", call, (*said, theirs.fileno()))
    return ours


class _Command(Started):
    """The command that a script starts with its errors in a pipe: stands for `subprocess.Popen` there."""

    def __init__(self, control: socket.socket, command: Sequence[str], *, env: Mapping[str, str], **_: Any) -> None:
        call = Call(command[2], command[3:], str(Path.cwd()), env)
        read, write = os.pipe()
        with Path(os.devnull).open("wb") as nothing, os.fdopen(write, "wb") as said:
            super().__init__(_begun(control, call, (nothing.fileno(), said.fileno())), said)
        self.stderr = os.fdopen(read)


def _done(call: Call, imports: str | None, timeout: float) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _asked(call, imports, (out.fileno(), err.fileno()), timeout)
        for said in (out, err):
            said.seek(0)
        return subprocess.CompletedProcess(call.words, code, out.read().decode(), err.read().decode())


def _asked(call: Call, imports: str | None, said: tuple[int, int], timeout: float) -> int:
    """Have a call carried out; return its exit code, below 0 where a signal has ended it."""
    control = _started(imports)
    _send(control, b"call", call, said)
    pid = int(control.recv(_LIMIT_BYTES))
    control.settimeout(timeout)
    try:
        return int(control.recv(_LIMIT_BYTES))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        control.settimeout(None)
        control.recv(_LIMIT_BYTES)
        raise subprocess.TimeoutExpired(call.words, timeout) from None
    finally:
        control.settimeout(None)


def _send(control: socket.socket, word: bytes, call: Call, descriptors: Sequence[int]) -> None:
    with tempfile.TemporaryFile() as told:
        told.write(json.dumps(call).encode())
        told.seek(0)
        socket.send_fds(control, [word], [told.fileno(), *descriptors])


@functools.cache
def _started(imports: str | None) -> socket.socket:
    """Start the process that forks, once for what it imports; it ends with this one.

    The one with torch_xla is forked from the one with torch, whose import takes the longest of all.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if imports == "torch_xla":
        with theirs:
            socket.send_fds(_started("torch"), [imports.encode()], [theirs.fileno()])
        atexit.register(ours.close)
        return ours
    command = [sys.executable, "-m", "tests.warm", str(theirs.fileno()), *([imports] if imports else [])]
    env = {**os.environ, **(warm_server.environment() if imports in warm_server.MODULES else {})}
    with theirs:
        popen = subprocess.Popen(command, cwd=ROOT, env=env, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        popen.wait()

    atexit.register(end)
    return ours


def _serve(control: socket.socket) -> Call:
    """Fork for each call; return, in the forked process, what it is to do."""
    is_serving = True
    while is_serving:
        word, descriptors, _, _ = socket.recv_fds(control, _LIMIT_BYTES, 4)
        if not word:
            break
        if word.decode() in warm_server.MODULES:
            [descriptor] = descriptors
            if os.fork() == 0:
                control.close()
                control = socket.socket(fileno=descriptor)
                _import(word.decode())
            else:
                os.close(descriptor)
            continue
        if word == b"start":
            answers = socket.socket(fileno=descriptors.pop())
            is_serving = os.fork() != 0
            if is_serving:
                answers.close()
                for descriptor in descriptors:
                    os.close(descriptor)
                continue
            control.close()
            control = answers  # of the one process that a fork of this one starts and waits for
        pid = os.fork()
        if pid == 0:
            control.close()
            return _become(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):
            control.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(descriptors: Sequence[int]) -> Call:
    """Take the folder, the environment and the output of a call."""
    told, *said = descriptors
    with os.fdopen(told) as file:
        call = Call(*json.load(file))
    for number, descriptor in enumerate(said, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # The streams that are there believe that they write to what they began with, which may be no pipe.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace", buffering=1)
    # A test run in the background ignores Ctrl-C, and would hand that on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(call.variables)
    os.chdir(call.folder)
    sys.path[0] = call.folder
    sys.path[1:1] = [each for each in call.variables.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.argv[1:] = call.words
    return call


def _beside(script: Call) -> Call:
    """Fork, before a script begins, the process that forks the command which `xlabench.measure` starts in it.

    Such a command has seen nothing of the script, as if it were a new interpreter. Return, in it, its own call.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        return _serve(theirs)
    theirs.close()
    from xlabench import api

    names = {name: getattr(subprocess, name) for name in subprocess.__all__}
    api.subprocess = types.SimpleNamespace(  # type: ignore[assignment]
        **names | {"Popen": functools.partial(_Command, ours)}
    )
    return script


def main() -> None:
    imports = sys.argv[2] if sys.argv[2:] else None
    for room in ROOMS:
        importlib.import_module(room)
    importlib.import_module("tests.migrated").begin_as_copies()
    _import(imports)
    call = _serve(socket.socket(fileno=int(sys.argv[1])))
    code = _code(call if call.module in ("xlabench", _CODE) else _beside(call))
    threading._shutdown()  # waits for threads as an interpreter does at its end, those of executors included
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _import(imports: str | None) -> None:
    if imports == DASHBOARD:
        _import_pages()
    if imports in warm_server.MODULES:
        warm_server.import_torch(imports)
    gc.freeze()  # else each forked process would copy all of it when it looks for garbage


def _import_pages() -> None:
    from streamlit import logger

    level = logger.get_logger("root").level
    logger.set_log_level("ERROR")  # it would warn that its caches have no server yet
    for module in _OF_PAGES:
        importlib.import_module(module)
    for module in sys.modules["dashboard.server"]._MODULES:
        importlib.import_module(module)
    logger.set_log_level(level)


def _code(call: Call) -> int:
    """Carry out a call; return its exit code as the interpreter would make it."""
    try:
        if call.module == _CODE:
            del sys.argv[1]
            exec(compile(call.words[0], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(call.module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - as at the end of any interpreter
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
