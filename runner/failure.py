"""Name what went wrong: exceptions, exit codes and signals become a status and an error."""

from __future__ import annotations

import os
import re
import signal
import traceback

from store.record import Error, Phase, Status

_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|RESOURCE_EXHAUSTED|not enough memory|bad_alloc|can(no|')t allocate memory",
    re.IGNORECASE,
)
_MESSAGE_CHARACTERS = 2000
_BY_PHASE: dict[Phase, Status] = {"load": "load_error", "compile": "compile_error"}


def status_of(phase: Phase, error: BaseException) -> Status:
    """Classify an exception; out of memory arrives as different types, so its text counts too."""
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(f"{type(error).__name__} {error}"):
        return "oom"
    return _BY_PHASE.get(phase, "run_error")


def describe(phase: Phase, error: BaseException) -> Error:
    """Keep type, message and traceback of an exception."""
    return Error(
        phase=phase,
        type=type(error).__name__,
        message=str(error).strip()[:_MESSAGE_CHARACTERS] or type(error).__name__,
        traceback="".join(traceback.format_exception(error)),
    )


def of_exit(phase: Phase, wait_status: int, log_tail: str) -> tuple[Status, Error]:
    """Describe a process that ended without a report.

    Args:
        phase: how far it had come.
        wait_status: as `os.waitpid` gives it.
        log_tail: the last lines of what it printed.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    status: Status = "oom" if _OUT_OF_MEMORY.search(log_tail) else "crashed"
    if code < 0:
        name = _signal_name(-code)
        message = f"the measuring process was killed by {name}"
        return status, Error(phase=phase, type=name, message=message, traceback=log_tail or None, signal=-code)
    message = f"the measuring process exited with code {code} before it reported"
    return status, Error(phase=phase, type="Exit", message=message, traceback=log_tail or None, exit_code=code)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have numbers only
        return f"signal {number}"


def of_timeout(phase: Phase, seconds: float, log_tail: str) -> Error:
    """Describe a process that was killed because its time was over."""
    message = f"still in phase {phase} after {seconds:g} s (--subprocess-timeout); its process tree was killed"
    return Error(phase=phase, type="Timeout", message=message, traceback=log_tail or None)
