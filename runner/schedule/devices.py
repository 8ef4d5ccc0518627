"""One measurement per device: a lock for each device of this host, which runs and the worker of jobs take.

The lock is a file outside of every home, held by the processes that have it open: it is free once the last of them has
ended, in any way. A job inherits it from the worker, so it stays held when the worker dies. The package filelock has no
lock that a process can hand on to its child.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.environments.others import gpu_number
from runner.errors import DeviceBusy
from runner.processes import is_process, start_time
from store.errors import UsageError

FOLDER_VARIABLE = "XLABENCH_LOCKS"
"""Environment variable with the folder of the locks; all that measure on a host need the same one."""

HELD_VARIABLE = "XLABENCH_DEVICES"
"""Environment variable of a job: devices that it holds already, each with the descriptor that it has inherited."""

_FOLDER = Path("/tmp/xlabench-locks")  # noqa: S108 - one place for all users of the host; see `folder`
_INDEXED = ("cuda", "xpu")
_NOTE_BYTES = 4096
WORKER = "worker-"
"""Beginning of locks that are of no device but of a home's worker."""


@dataclass(frozen=True)
class Owner:
    """Who holds a device."""

    pid: int
    what: str
    since: float
    """Time at which the lock was taken, in Unix seconds."""

    def sentence(self, device: str) -> str:
        """Return a sentence that names the holder of the device."""
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"{device} is in use by benchmark process {self.pid} since {since} ({self.what})"


def names(accelerators: Iterable[str], index: int | None = None) -> tuple[str, ...]:
    """Return the devices that a measurement on these accelerators uses, as `cpu` and `cuda:0`, in one order for all."""
    return tuple(sorted({f"{name}:{_number(name, index or 0)}" if name in _INDEXED else name for name in accelerators}))


def _number(accelerator: str, index: int) -> str:
    """Return the device's own number where a process sees only some."""
    if accelerator == "cuda":
        return gpu_number(index)
    visible = os.environ.get("ZE_AFFINITY_MASK", "").replace(" ", "").split(",")
    return visible[index] if index < len(visible) and visible[index].replace(".", "").isalnum() else str(index)


def folder() -> Path:
    """Return the folder of the locks, made if need be so that every user of the host can use it.

    Raises:
        UsageError: what lies there is no folder.
    """
    path = Path(os.environ.get(FOLDER_VARIABLE) or _FOLDER)
    with contextlib.suppress(FileExistsError):
        path.mkdir(parents=True)
        path.chmod(0o1777)
    if path.is_symlink() or not path.is_dir():
        raise UsageError(
            f"{path} must be a folder for device locks, but is not a folder; remove it, or set {FOLDER_VARIABLE}."
        )
    return path


@contextlib.contextmanager
def held(devices: Iterable[str], what: str, *, wait: bool, say: Callable[[str], None]) -> Iterator[None]:
    """Hold these devices while the block runs; what this process has inherited is held already.

    Processes that wait for them are shown `what` is measured. `say` gets a sentence that names who holds them now.

    Raises:
        DeviceBusy: another process holds one, and `wait` is off.
    """
    with contextlib.ExitStack() as stack:
        have = inherited()
        for name in devices:
            if name not in have:
                handle = _open(name)
                stack.callback(os.close, handle)
                _lock(handle, name, wait=wait, say=say)
                note(handle, os.getpid(), what)
        yield


def _lock(handle: int, name: str, *, wait: bool, say: Callable[[str], None]) -> None:
    if _try(handle):
        return
    sentence = _in_use(name)
    if not wait:
        raise DeviceBusy(f"{sentence}. Wait for it, or remove --no-wait.")
    say(f"Waiting: {sentence}.")
    fcntl.flock(handle, fcntl.LOCK_EX)


def _in_use(name: str) -> str:
    held_by = owner(name)
    return held_by.sentence(name) if held_by else f"{name} is in use by another benchmark process"


def take(devices: Iterable[str], what: str) -> dict[str, int] | str:
    """Take all of these devices at once, or none; returns their descriptors, else why not."""
    handles: dict[str, int] = {}
    for name in devices:
        handles[name] = _open(name)
        if not _try(handles[name]):
            release(handles)
            return _in_use(name)
    for handle in handles.values():
        note(handle, os.getpid(), what)
    return handles


def release(handles: Mapping[str, int]) -> None:
    """Close these descriptors; processes that inherited them still hold the devices."""
    for handle in handles.values():
        os.close(handle)


def inherited() -> frozenset[str]:
    """Return the devices that this process holds by descriptors it was started with."""
    variable = os.environ.get(HELD_VARIABLE)
    if not variable:
        return frozenset()
    return frozenset(name for name, handle in json.loads(variable).items() if _is(handle, name))


def _is(handle: int, name: str) -> bool:
    """Say whether a descriptor is that of the device's lock: a process further down has the variable only."""
    probe = _open(name)
    try:
        return os.path.sameopenfile(handle, probe)
    except OSError:
        return False
    finally:
        os.close(probe)


def note(handle: int, pid: int, what: str) -> None:
    """Write the holder of a lock into its file."""
    holder = {"pid": pid, "started_at": start_time(pid), "what": what[:500], "since": time.time()}
    text = json.dumps(holder).encode()
    os.ftruncate(handle, 0)
    os.pwrite(handle, text, 0)


def owner(name: str) -> Owner | None:
    """Return the living process that has written itself as the holder; None if there is none."""
    handle = _open(name)
    try:
        holder = json.loads(os.pread(handle, _NOTE_BYTES, 0))
        process = Owner(pid=int(holder["pid"]), what=str(holder["what"]), since=float(holder["since"]))
        started_at = holder["started_at"]
    except (ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(handle)
    return process if is_process(process.pid, started_at) else None


def measured_on() -> bool:
    """Say whether another process of this host measures on a device; it asks the notes, and takes no lock for it."""
    devices = (path.stem for path in folder().glob("*.lock") if not path.name.startswith(WORKER))
    # A device that this worker has reserved and not handed on names the worker: nothing measures on it.
    return any(holder is not None and holder.pid != os.getpid() for holder in map(owner, devices))


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(name: str) -> int:
    """Open a device's lock: made once, for all users, and never through a link."""
    path = folder() / f"{name.replace('/', '_')}.lock"
    # A sticky folder may forbid O_CREAT on another user's file, so it is asked for only where there is none.
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        os.fchmod(handle, 0o666)
        return handle
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
