"""Find the interpreter of an earlier run's environment again, and refuse one that is no longer what it was."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.plan.interpreters import DEFAULT, Interpreter, ask
from store.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.record import Environment

IDENTITY = (
    "python",
    "torch",
    "torch_git",
    "torch_xla",
    "torch_xla_git",
    "torchvision",
    "transformers",
    "timm",
    "torchbench_commit",
    "machine_id",
)
"""What makes an environment what it is: equal, or a run is not resumed and a side not measured again."""


@dataclass(frozen=True, kw_only=True)
class Before:
    """An environment of an earlier run."""

    name: str
    """Name in the run that measures it again."""
    was: Environment
    run: str
    """How the earlier run is called."""

    def words(self) -> str:
        """Name it in a sentence."""
        return f"Environment {self.name} ({self.was.name} of run {self.run})"


def find(
    before: Before, given: Mapping[str, Path], named: Mapping[str, Path], sources: Mapping[str, str | None]
) -> Interpreter:
    """Return the interpreter of an earlier environment as it is now.

    Args:
        before: what it was.
        given: interpreters by the name in the new run, from the command line.
        named: interpreters by the name that they had, from `xlabench.toml`.
        sources: what identifies the sources of the models now; `torchbench_commit` is looked at where it is among them.

    Raises:
        UsageError: nobody says where it is, or it is another one by now.
    """
    python = _python(before, given, named)
    here, now = ask(before.name, python)
    commit = sources.get("torchbench_commit")
    now = msgspec.structs.replace(now, name=before.name, threads=before.was.threads, torchbench_commit=commit)
    looked_at = [field for field in IDENTITY if field != "torchbench_commit" or field in sources]
    _refuse_another(before, now, looked_at)
    return Interpreter(name=before.name, machine=here, description=now)


def same_interpreter(one: Interpreter, other: Interpreter) -> bool:
    """Say whether two are one."""
    return same_place(Path(one.machine.python), Path(other.machine.python))


def place(was: Environment, named: Mapping[str, Path]) -> Path | None:
    """Return where an interpreter is: what its run wrote down, else by its name, else our own where it was ours.

    Nothing is asked of it. None: nobody says where it is.
    """
    if was.executable and shutil.which(was.executable):
        return Path(was.executable)
    if was.name in named:
        return named[was.name]
    return Path(sys.executable) if was.name == DEFAULT else None


def gone(before: Before) -> str:
    """Return the sentence's begin for an interpreter that nobody finds."""
    was = before.was
    why = f"its interpreter {was.executable} is gone" if was.executable else "its run does not name its interpreter"
    return f"{before.words()}: {why}"


def same_place(one: Path, other: Path) -> bool:
    """Say whether two are one interpreter, under whichever of the names that a folder has for its Python.

    The folder counts, too: the interpreters of all virtual environments are links to the same file.
    """
    return one.resolve() == other.resolve() and one.parent.resolve() == other.parent.resolve()


def _python(before: Before, given: Mapping[str, Path], named: Mapping[str, Path]) -> Path:
    """Choose: the command line, else where it was."""
    found = given.get(before.name) or place(before.was, named)
    if found is None:
        raise UsageError(f"{gone(before)}; pass --env {before.name}=PYTHON.")
    return found


def _refuse_another(before: Before, now: Environment, fields: Sequence[str]) -> None:
    for field in fields:
        then, today = getattr(before.was, field), getattr(now, field)
        if then == today:
            continue
        said = f"{before.words()}: {field} was {_word(then)} and is now {_word(today)}"
        if field == "machine_id":
            raise UsageError(f"{said} here; repeat the measurement on the original machine.")
        if field == "torchbench_commit":
            raise UsageError(f"{said} in the checkout; pass --torchbench-dir with a checkout of the former.")
        raise UsageError(
            f"{said} in {now.executable}; pass --env {before.name}=PYTHON with an interpreter that has the former."
        )


def _word(value: str | None) -> str:
    return value or "not there"
