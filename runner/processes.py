"""Keep no orphan: subreaper, parent-death signals, and killing whole process trees (Linux).

A stopped grandchild outlives `kill -9` of its parent, and a daemon leaves its session; so processes of a run
are found three ways: as descendants, by session, and by the run's tag in their environment.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

import psutil

T = TypeVar("T")

TAG = "XLABENCH_RUN_ID"
"""Environment variable that every process of a run inherits."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_START_FIELD = 19
"""Field of /proc/PID/stat, counted after the name of the program."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KILL_ROUNDS = 100
_STOP_ROUNDS = 1000
_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def become_subreaper() -> None:
    """Adopt orphaned descendants, so that they stay findable."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int, sig: int = signal.SIGKILL) -> None:
    """Ask for `sig` when the parent dies; end at once where it is dead already."""
    _prctl(_PR_SET_PDEATHSIG, sig)
    if os.getppid() != parent:
        os._exit(1)


def start_time(pid: int) -> float | None:
    """Return the process's start (seconds since the boot), which with the pid identifies it; None where it is gone.

    Unix seconds would not do: the kernel counts from the boot, whose own time moves whenever the clock is set.
    """
    with contextlib.suppress(OSError, OverflowError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[_START_FIELD]) / _TICKS_PER_S
    return None


def is_process(pid: int, started_at: float | None) -> bool:
    """Say whether a process is still the one that had started then; None is never one."""
    return started_at is not None and start_time(pid) == started_at


def age_s(started_at: float) -> float:
    """Return the seconds since a start, whatever the clock was set to meanwhile."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_at


def tree(pid: int) -> list[psutil.Process]:
    """List a process, its descendants, and the processes of its session."""
    members: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        members[pid] = root
        for child in root.children(recursive=True):
            members[child.pid] = child
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == pid:
                members[process.pid] = process
    return [process for process in members.values() if process.pid != os.getpid()]


def tagged(value: str, tag: str = TAG) -> list[psutil.Process]:
    """List the living processes whose environment holds the tag with this value, except this one."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if (
                process.pid != os.getpid()
                and process.status() != psutil.STATUS_ZOMBIE
                and process.environ().get(tag) == value
            ):
                members.append(process)
    return members


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    alive = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
    return alive


def stop_tree(pid: int) -> None:
    """SIGSTOP a process and everything below it, its root first; return when none of them runs, newcomers included."""
    for _ in range(_STOP_ROUNDS):
        running = [process for process in tree(pid) if not _is_stopped(process)]
        if not running:
            return
        _signal(running, signal.SIGSTOP)
        time.sleep(0.001)


def _is_stopped(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP, psutil.STATUS_ZOMBIE)
    return True


def continue_tree(pid: int) -> None:
    """SIGCONT a process and everything below it."""
    _signal(tree(pid), signal.SIGCONT)


def kill_tree(pid: int) -> None:
    """SIGKILL a process and everything below it, stopped or not; return when none is left."""
    members = tree(pid)
    for _ in range(_KILL_ROUNDS):
        _signal(members, signal.SIGKILL)
        members = _alive({*members, *tree(pid)})
        if not members:
            return
        time.sleep(0.01)


def wait_readable(descriptors: Iterable[int], seconds: float) -> list[int]:
    """Wait until a descriptor has something to read, or the time is over; return those that have.

    `select.select` would refuse descriptors from 1024 on, which a server that runs for weeks may get.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(1000 * seconds)]


def in_time(ask: Callable[[], T], seconds: float) -> T:
    """Return what a call gives that may wait for ever; it goes on in a thread that ends with this process.

    Raises:
        TimeoutError: it took longer.
        Exception: whatever the call raises.
    """
    ended: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            ended.put((ask(), None))
        except Exception as error:  # noqa: BLE001 - raised below, in the thread that waits
            ended.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        answer, error = ended.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"no answer in {seconds:g} s") from None
    if error is not None:
        raise error
    return cast("T", answer)


def kill_tagged(value: str, keep: frozenset[int] = frozenset(), tag: str = TAG) -> list[int]:
    """SIGKILL what carries the tag with this value, except `keep`; return the pids that were found."""
    seen: list[int] = []
    for _ in range(_KILL_ROUNDS):
        members = [process for process in tagged(value, tag) if process.pid not in keep]
        if not members:
            break
        seen += [process.pid for process in members if process.pid not in seen]
        _signal(members, signal.SIGKILL)
        reap_orphans(keep)
        time.sleep(0.01)
    return seen


def kill_orphans(keep: Container[int] = ()) -> None:
    """SIGKILL the children of this process and all below, except `keep`: as a subreaper it gets those of the dead."""
    for child in psutil.Process().children():
        if child.pid not in keep:
            kill_tree(child.pid)


def reap_orphans(keep: frozenset[int] = frozenset()) -> None:
    """Collect the exit statuses of adopted children; `keep` are waited for by their owners."""
    for child in psutil.Process().children():
        if child.pid in keep:
            continue
        with contextlib.suppress(ChildProcessError, OSError):
            os.waitpid(child.pid, os.WNOHANG)
