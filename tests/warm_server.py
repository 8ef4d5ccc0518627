"""A fork server of a run, forked from the run's own process, which has torch imported: that is most of a short run.

So are the process that tries a user's own model, and the one that looks in a model for the call of an op. Such a
process is a child of its parent as any other, in a session, with descriptors, an environment and a tag of its own; only
its imports are done. Where anything might tell the two apart (a variable that torch may read while it is imported,
another interpreter, a thread, other modules), the process is started as it always is. Servers from start to end are in
tests/runner/test_server.py and tests/faults/test_jobs.py, whose commands are whole interpreters.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib.util
import itertools
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from runner.processes import TAG

SERVER = ["-m", "runner.process.server"]
TRIAL = ["-m", "runner.suites.own.trial"]
CALLS = ["-m", "runner.repro.calls"]
MODULES = {
    "torch": ("torch", "torch._dynamo", "torch._inductor.compile_fx"),
    "torch_xla": (
        *("torch", "torch._dynamo", "torch._inductor.compile_fx"),
        *("torch_xla", "torch_xla.core.xla_model", "torch_xla.debug.metrics", "torch_xla._dynamo.dynamo_bridge"),
    ),
}
WITHOUT_XLA = {"None", "eager", "inductor"}
FIXED = {"TORCH_WARM_POOL": "0", "HF_HUB_OFFLINE": "1", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""What a pool gives every server."""
NOT_TORCHS = ("XLABENCH_", "PYTEST_", "PYTHONPATH", "COLUMNS", "TTY_COMPATIBLE", TAG)
"""Names, or their beginnings, of variables that torch does not read while it is imported."""
NO_RUN = "00000000-0000-0000-0000-000000000000"


def imports_of(words: Sequence[str]) -> str | None:
    """Return what the servers of a command import: a key of `MODULES`, or None where it measures nothing."""
    if words[:1] == ["compare"] and "--confirm" in words:
        return "torch" if importlib.util.find_spec("torch") else None
    if words[:1] not in (["run"], ["calibrate"]):
        return None
    asked = {value for name, value in itertools.pairwise(words) if name in ("--xla", "--backend")}
    imports = "torch" if asked and asked <= WITHOUT_XLA else "torch_xla"
    return imports if importlib.util.find_spec(imports) else None


def environment() -> dict[str, str]:
    """Return the variables that a process has from its start whose forks are to become servers."""
    return {**FIXED, TAG: NO_RUN}


def import_torch(imports: str) -> None:
    """Do what a server does before it says hello, and have the servers of this process's forks forked from them.

    A fork of a process that has done so may import more.
    """
    start = _starts()
    for module in MODULES[imports]:
        importlib.import_module(module)
    from runner.process import toolchain
    from runner.repro import calls
    from runner.schedule import pool
    from runner.suites.own import trial

    toolchain.prepare()
    names = {name: getattr(subprocess, name) for name in subprocess.__all__}
    pool.subprocess = trial.subprocess = types.SimpleNamespace(  # type: ignore[assignment]
        **names | {"Popen": start}
    )
    calls.subprocess = types.SimpleNamespace(**names | {"run": start.run})  # type: ignore[assignment]


@functools.cache
def _starts() -> _Starts:
    """Return what starts servers; it knows the variables as they were before torch was imported, which adds some."""
    os.environ.pop(TAG)
    return _Starts(dict(os.environ))


class _Starts:
    """Stands for `subprocess.Popen` where a pool starts its processes, and where a model is tried."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = FIXED | _of_torch(variables)

    def __call__(self, command: list[str], **how: Any) -> subprocess.Popen[bytes]:
        tag = how["env"].get(TAG, "")
        if not (self._is_alike(command, how["env"]) and (_names_run(tag) or list(command[1:3]) in (TRIAL, CALLS))):
            return subprocess.Popen(command, **how)
        gc.collect()  # what is garbage now must not close a descriptor of the server later
        pid = os.fork()
        if pid:
            return _Forked(command, pid)
        code = 0
        try:
            _become(command, tag, **how)
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:  # noqa: BLE001 - a forked process must never return into the scheduler
            traceback.print_exc()
            code = 1
        os._exit(code)

    def run(
        self,
        command: list[str],
        *,
        input: bytes,  # noqa: A002 - as subprocess names it
        env: Mapping[str, str],
        timeout: float,
        **_: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        """Stand for `subprocess.run` where the calls of a model are looked for."""
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
            asked.write(input)
            asked.seek(0)
            popen = self(command, env=env, stdin=asked, stdout=said, stderr=said, start_new_session=True)
            try:
                code = popen.wait(timeout)
            finally:
                popen.kill()
                popen.wait()
            said.seek(0)
            return subprocess.CompletedProcess(command, code, b"", said.read())

    def _is_alike(self, command: Sequence[str], variables: Mapping[str, str]) -> bool:
        return (
            command[0] == sys.executable
            and (list(command[1:3]) in (TRIAL, CALLS) or self._preloads_alike(command))
            and self._imports_alike(command, FIXED | _of_torch(variables))
            and _threads_n() == 1
        )

    def _imports_alike(self, command: Sequence[str], variables: Mapping[str, str]) -> bool:
        """Say whether torch would be imported as it was; a backend's variables reach a server after that, too."""
        if list(command[1:3]) == CALLS:
            return variables.items() >= self._variables.items()
        return variables == self._variables

    def _preloads_alike(self, command: Sequence[str]) -> bool:
        return (
            list(command[1:3]) == SERVER
            and "--single" not in command
            and ("torch_xla" in command) == ("torch_xla" in sys.modules)
        )


def _threads_n() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def _of_torch(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(NOT_TORCHS)}


class _Forked(subprocess.Popen[bytes]):
    """A child that was forked: what waits for, asks or ends a process does so with this one."""

    def __init__(self, command: list[str], pid: int) -> None:
        self.args, self.pid, self.returncode = command, pid, None
        self.stdin = self.stdout = self.stderr = None
        self._child_created, self._waitpid_lock, self._sigint_wait_secs = True, threading.Lock(), 0.25


def _names_run(tag: str) -> bool:
    """Say whether this process has room for the run's tag where the kernel shows what its environment was."""
    return len(tag) == len(NO_RUN) and _place_of_tag() is not None


def _place_of_tag() -> int | None:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start and env_end: see proc(5)
    found = ctypes.string_at(start, end - start).find(f"{TAG}={NO_RUN}".encode())
    return None if found < 0 else start + found + len(TAG) + 1


def _become(
    command: Sequence[str],
    tag: str,
    *,
    env: Mapping[str, str],
    stdin: IO[bytes] | int,
    stdout: IO[bytes] | int,
    stderr: IO[bytes],
    start_new_session: bool,
    pass_fds: Sequence[int] = (),
) -> None:
    """Take what a new interpreter would begin with, and do what the command says."""
    assert start_new_session
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if tag:
        place = _place_of_tag()
        assert place is not None
        ctypes.memmove(place, tag.encode(), len(tag))
    nothing = os.open(os.devnull, os.O_RDWR)
    given, output = (nothing if isinstance(stream, int) else stream.fileno() for stream in (stdin, stdout))
    for number, descriptor in enumerate((given, output, stderr.fileno())):
        os.dup2(descriptor, number)
    first = 3
    for kept in sorted(pass_fds):
        os.closerange(first, kept)
        first = kept + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(env)
    sys.argv[1:] = command[3:]
    runpy.run_module(command[2], run_name="__main__", alter_sys=True)
