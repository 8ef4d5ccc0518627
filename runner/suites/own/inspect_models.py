"""Find out what the models are that a command names: each is tried in a process of its own. Imports no torch."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.errors import UsageError
from runner.suites.base import OwnFound, found_of
from runner.suites.own.errors import OwnModelError
from runner.suites.own.reference import read
from runner.suites.own.trial import Asked, Told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KILLED = -9


def look(
    asked: Sequence[Asked], *, python: str = sys.executable, variables: Mapping[str, str], timeout_s: float
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


def _one(asked: Asked, python: str, variables: Mapping[str, str], timeout_s: float) -> OwnFound:
    name = asked.word or "the module"
    with tempfile.TemporaryDirectory(prefix="xlabench-own-") as folder:
        out = Path(folder) / "told.json"
        command = [python, "-m", "runner.suites.own.trial", msgspec.json.encode(asked).decode(), str(out)]
        try:
            done = subprocess.run(
                command,
                env=dict(variables),
                capture_output=True,
                timeout=timeout_s,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"{name} was tried for {timeout_s:g} s and did not end; --subprocess-timeout gives it more."
            ) from None
        told = msgspec.json.decode(out.read_bytes(), type=Told) if out.exists() else Told()
    if told.error is not None:
        raise UsageError(told.error)
    if told.own is not None and told.hooks is not None:
        return found_of(told.own, **msgspec.structs.asdict(told.hooks))
    if told.own is not None and done.returncode == _KILLED:
        return found_of(told.own, too_large="the process that tried it was killed")
    last = (done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise UsageError(f"{name} cannot be tried: its process ended with {last[:300]}")
