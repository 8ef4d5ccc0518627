"""Find out what the models are that a command names: each is tried in a process of its own. Imports no torch."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.suites.base import OwnFound, found_of
from runner.suites.own.reference import OwnModelError, read
from runner.suites.own.trial import Told, TrialRequest
from store.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATIENCE_S = 20.0
"""After so long somebody who waits is told what for."""


def look(
    asked: Sequence[TrialRequest], *, python: str = sys.executable, variables: Mapping[str, str], timeout_s: float
) -> tuple[OwnFound, ...]:
    """Return the models, each once.

    Args:
        asked: what is to be known of each.
        python: the interpreter that measures them.
        variables: the environment of that interpreter.
        timeout_s: of each.

    Raises:
        UsageError: one cannot be used; one sentence says why.
    """
    try:
        for each in asked:
            if each.pickled is None:
                read(each.word)  # what is not there needs no process
    except OwnModelError as error:
        raise UsageError(str(error)) from None
    found = [_one(each, python, variables, timeout_s) for each in asked]
    return tuple({one.model.name: one for one in found}.values())


def _one(asked: TrialRequest, python: str, variables: Mapping[str, str], timeout_s: float) -> OwnFound:
    name = asked.word or "the module"
    with tempfile.TemporaryDirectory(prefix="xlabench-own-") as folder:
        out, errors = Path(folder) / "told.json", Path(folder) / "errors.txt"
        command = [python, "-m", "runner.suites.own.trial", msgspec.json.encode(asked).decode(), str(out)]
        with errors.open("wb") as file:
            process = subprocess.Popen(
                command,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        code = _ended(process, name, timeout_s)
        told = msgspec.json.decode(out.read_bytes(), type=Told) if out.exists() else Told()
        said = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if told.error is not None:
        raise UsageError(told.error)
    if told.own is not None and told.hooks is not None:
        return found_of(told.own, **msgspec.structs.asdict(told.hooks))
    if told.own is not None and code == -signal.SIGKILL:
        return found_of(told.own, too_large="the process that tried it was killed")
    how = f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"
    raise UsageError(f"{name} cannot be tried: its process {how}{f'; it said: {said[-1][:300]}' if said else ''}")


def _ended(process: subprocess.Popen[bytes], name: str, timeout_s: float) -> int:
    """Wait for the process and return its exit code; nothing that it started outlives this.

    Raises:
        UsageError: it takes too long.
    """
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(_PATIENCE_S, timeout_s))
        if timeout_s > _PATIENCE_S:
            said = f"{name} is tried once before it is measured; this has taken {_PATIENCE_S:g} s so far."
            sys.stderr.write(f"{said}\n")
            sys.stderr.flush()
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(timeout_s - _PATIENCE_S)
        raise UsageError(f"{name} was tried for {timeout_s:g} s and did not end; --subprocess-timeout gives it more.")
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
