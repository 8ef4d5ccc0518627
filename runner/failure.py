"""Name what went wrong: exceptions, exit codes and signals become a status and an error."""

from __future__ import annotations

import os
import signal
import traceback
from pathlib import Path

from runner.accelerators import OUT_OF_MEMORY
from store.record import Error, Phase, Status

LESS_MEMORY = "use a smaller batch (--batch-size), or stop other programs"
"""What to do where the machine has too little memory."""
_MESSAGE_CHARACTERS = 2000
_TRACEBACK_CHARACTERS = 1 << 20
_BY_PHASE: dict[Phase, Status] = {"load": "load_error", "compile": "compile_error"}


def status_of(phase: Phase, error: BaseException) -> Status:
    """Classify an exception; out of memory arrives as different types, so its text counts too."""
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(f"{type(error).__name__} {_text(error)}"):
        return "oom"
    return in_phase(phase)


def describe(phase: Phase, error: BaseException) -> Error:
    """Keep type, message and traceback of an exception."""
    text = (
        f"the model's code called sys.exit({error.code!r})" if isinstance(error, SystemExit) else _text(error).strip()
    )
    return Error(
        phase=phase,
        type=type(error).__name__,
        message=text[:_MESSAGE_CHARACTERS] or type(error).__name__,
        traceback=_cut(storable("".join(traceback.format_exception(error)))),
    )


def _text(error: BaseException) -> str:
    """Return the message of an exception, whose own code may fail."""
    try:
        return storable(str(error))
    except Exception as failed:  # noqa: BLE001 - the error itself is what has to be reported
        return f"its message cannot be shown: its __str__ raised {type(failed).__name__}"


def storable(text: str) -> str:
    """Return a text with lone surrogates spelled out: no record can hold them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _cut(text: str) -> str:
    """Return the beginning and the end of a text that is too long for a record."""
    left_out = len(text) - _TRACEBACK_CHARACTERS
    half = _TRACEBACK_CHARACTERS // 2
    return f"{text[:half]}\n... {left_out} characters left out ...\n{text[-half:]}" if left_out > 0 else text


def kernel_oom_kills() -> int:
    """Return how many processes the kernel has killed for memory since boot; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def of_exit(phase: Phase, wait_status: int | None, log_tail: str, *, oom_kill: bool = False) -> tuple[Status, Error]:
    """Describe a process that ended without a report.

    Args:
        phase: how far it had come.
        wait_status: as `os.waitpid` gives it; None if it could not be collected.
        log_tail: the last lines of what it printed.
        oom_kill: the kernel killed a process for memory meanwhile.
    """
    traceback_ = log_tail or None
    status: Status = "oom" if OUT_OF_MEMORY.search(log_tail) else "crashed"
    if wait_status is None:
        message = "the benchmark process disappeared without an exit status"
        return status, Error(phase=phase, type="Exit", message=message, traceback=traceback_)
    code = os.waitstatus_to_exitcode(wait_status)
    if code < 0:
        name = signal_name(-code)
        message = f"the benchmark process was killed by {name}"
        if oom_kill and -code == signal.SIGKILL:
            status, message = "oom", f"{message} in phase {phase}: the kernel had no memory left; {LESS_MEMORY}"
        return status, Error(phase=phase, type=name, message=message, traceback=traceback_, signal=-code)
    message = f"the benchmark process exited with code {code} before it reported"
    return status, Error(phase=phase, type="Exit", message=message, traceback=traceback_, exit_code=code)


def signal_name(number: int) -> str:
    """Return a signal's name, its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have numbers only
        return f"signal {number}"


def in_phase(phase: Phase) -> Status:
    """Return the status of a process that fails in a phase for no special reason."""
    return _BY_PHASE.get(phase, "run_error")
