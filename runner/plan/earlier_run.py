"""What it takes to measure an earlier run again: its interpreters, its planned experiments, and the settings.

An interpreter that is no longer what it was is refused.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runner.plan.interpreters import DEFAULT, Interpreter, ask
from runner.plan.local_request import Plan
from runner.settings import Settings
from store.errors import UsageError
from store.record import Environment, PlanEntry, RunFile
from store.record.experiment import VERSIONS
from store.stats.verdicts import CONFIRMING_PROCESSES

IDENTITY = ("python", *VERSIONS, "machine_id")
"""Fields that identify an environment: where they differ, no run is resumed and no side is measured again."""


@dataclass(frozen=True, kw_only=True)
class EarlierEnvironment:
    """An environment of an earlier run."""

    name: str
    """Name of the environment in the run that measures it again."""
    was: Environment
    run: str
    """The earlier run, as the user named it."""

    def described(self) -> str:
        return f"Environment {self.name} ({self.was.name} of run {self.run})"


def find(
    before: EarlierEnvironment, typed: Mapping[str, Path], named: Mapping[str, Path], sources: Mapping[str, str | None]
) -> Interpreter:
    """Return the interpreter of an earlier environment as it is now.

    Args:
        before: what it was.
        typed: interpreters by the name in the new run, from the command line.
        named: interpreters by the name that they had, from `xlabench.toml`.
        sources: current versions of the models' sources; `torchbench_commit` is compared if it is among them.

    Raises:
        UsageError: its path is unknown, or it has changed.
    """
    python = _python(before, typed, named)
    here, now = ask(before.name, python)
    commit = sources.get("torchbench_commit")
    now = msgspec.structs.replace(now, name=before.name, threads=before.was.threads, torchbench_commit=commit)
    looked_at = [field for field in IDENTITY if field != "torchbench_commit" or field in sources]
    _refuse_another(before, now, looked_at)
    return Interpreter(name=before.name, machine=here, description=now)


def same_interpreter(one: Interpreter, other: Interpreter) -> bool:
    """Say whether two interpreters are the same."""
    return same_path(Path(one.machine.python), Path(other.machine.python))


def interpreter_path(was: Environment, named: Mapping[str, Path]) -> Path | None:
    """Return the path of an interpreter: as its run recorded it, else by its name, else our own if it was the default.

    The interpreter is not run. None means that its path is unknown.
    """
    if was.executable and shutil.which(was.executable):
        return Path(was.executable)
    if was.name in named:
        return named[was.name]
    return Path(sys.executable) if was.name == DEFAULT else None


def missing_interpreter(before: EarlierEnvironment) -> str:
    """Return the beginning of the sentence about an interpreter that cannot be found."""
    was = before.was
    why = (
        f"its interpreter {was.executable} no longer exists"
        if was.executable
        else "its run does not name its interpreter"
    )
    return f"{before.described()}: {why}"


def same_path(one: Path, other: Path) -> bool:
    """Say whether two paths are one interpreter, whichever of its names in its folder they use.

    The folder counts, too: the interpreters of all virtual environments are links to the same file.
    """
    return one.resolve() == other.resolve() and one.parent.resolve() == other.parent.resolve()


def _python(before: EarlierEnvironment, typed: Mapping[str, Path], named: Mapping[str, Path]) -> Path:
    """Return the interpreter of the command line, else the earlier one."""
    python = typed.get(before.name) or interpreter_path(before.was, named)
    if python is None:
        raise UsageError(f"{missing_interpreter(before)}; pass --env {before.name}=PYTHON.")
    return python


def _refuse_another(before: EarlierEnvironment, now: Environment, fields: Sequence[str]) -> None:
    for field in fields:
        then, today = getattr(before.was, field), getattr(now, field)
        if then == today:
            continue
        change = f"{before.described()}: {field} was {then or 'missing'} and is now {today or 'missing'}"
        if field == "machine_id":
            raise UsageError(f"{change} here; repeat the measurement on the original machine.")
        if field == "torchbench_commit":
            raise UsageError(f"{change} in the checkout; pass --torchbench-dir with a checkout of the former.")
        raise UsageError(
            f"{change} in {now.executable}; pass --env {before.name}=PYTHON with an interpreter that has the former."
        )


def planned(file: RunFile, experiment_id: str, environment: str) -> PlanEntry:
    """Return what a run had planned for an experiment.

    Raises:
        UsageError: its `run.json` does not hold it.
    """
    for entry in file.plan:
        if entry.key == (experiment_id, environment):
            return entry
    raise UsageError(
        f"The plan of run {file.run.run_id} does not contain experiment {experiment_id} in environment {environment}, "
        "so it cannot be repeated. Ingest the run's original folder."
    )


def side_by_side(cells: Sequence[tuple[PlanEntry, PlanEntry]]) -> Plan:
    """Return the plan of both sides of these cells: both sides of a cell are in one group, so they take turns.

    Args:
        cells: old and new experiment of each, under the names of their environments in the new run.
    """
    groups: dict[str, dict[tuple[str, str], PlanEntry]] = {}
    for old, new in cells:
        members = groups.setdefault(new.group, {})
        for entry in (old, new):
            member = msgspec.structs.replace(entry, group=new.group, skip_reason=None)
            members.setdefault(member.key, member)
    return Plan(entries=tuple(entry for members in groups.values() for entry in members.values()))


def confirming(settings: dict[str, Any], processes: int | None = None) -> Settings:
    """Return the settings of a confirmation, from those of the run that it confirms.

    Enough blocks, rounds and processes, interleaved; nothing beside the timing; and no A/A controls, whose pairs would
    change the floors by which the same command chooses the cells when it is repeated.

    Raises:
        UsageError: too few processes to confirm anything.
    """
    of_run = msgspec.convert(settings, Settings)
    usual = Settings()
    if processes is not None and processes < CONFIRMING_PROCESSES:
        raise UsageError(f"--processes {processes}: a confirmation needs at least {CONFIRMING_PROCESSES}.")
    return msgspec.structs.replace(
        of_run,
        # The peer's preset counts blocks in another way and does not interleave processes.
        preset=usual.preset if of_run.preset == "peer" else of_run.preset,
        repeat=max(usual.repeat, of_run.repeat),
        rounds=max(usual.rounds, of_run.rounds),
        purpose="confirmation",
        processes=processes or max(CONFIRMING_PROCESSES, of_run.processes),
        until_verdict=False,
        time_budget_s=None if of_run.until_verdict else of_run.time_budget_s,
        twins=0,
        interleave="processes",
        verify="off",
        instruments=(),
        save_ir_format=None,
        collect_dynamo_counters=False,
        print_subprocess=False,
    )
