"""The plan that measures both sides of a comparison once more, side by side, and under which settings (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from runner.plan.local_request import Plan
from runner.settings import Settings
from store.errors import UsageError
from store.stats.verdicts import CONFIRMING_PROCESSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.record import PlanEntry, RunFile


def planned(file: RunFile, experiment_id: str, environment: str) -> PlanEntry:
    """Return what a run had planned for an experiment.

    Raises:
        UsageError: its `run.json` does not hold it.
    """
    for entry in file.plan:
        if (entry.experiment_id, entry.environment) == (experiment_id, environment):
            return entry
    raise UsageError(
        f"The plan of run {file.run.run_id} does not contain experiment {experiment_id} in environment {environment}, "
        "so it cannot be repeated. Ingest the run's original folder."
    )


def side_by_side(cells: Sequence[tuple[PlanEntry, PlanEntry]]) -> Plan:
    """Return the plan of both sides of these cells: both of a cell stand in one group, so they take turns.

    Args:
        cells: old and new experiment of each, under the names of their environments in the new run.
    """
    groups: dict[str, dict[tuple[str, str], PlanEntry]] = {}
    for old, new in cells:
        members = groups.setdefault(new.group, {})
        for entry in (old, new):
            member = msgspec.structs.replace(entry, group=new.group, skip_reason=None)
            members.setdefault((member.experiment_id, member.environment), member)
    return Plan(entries=tuple(entry for members in groups.values() for entry in members.values()))


def confirming(settings: dict[str, Any], processes: int | None = None) -> Settings:
    """Return the settings of a confirmation, from those of the run that it confirms.

    Enough blocks, rounds and processes, interleaved; nothing beside the timing; and no A/A controls, whose pairs would
    change the floors by which the same command chooses the cells when it is repeated.

    Args:
        settings: of the run, as its `run.json` has them.
        processes: as asked for.

    Raises:
        UsageError: too few processes to confirm anything.
    """
    found = msgspec.convert(settings, Settings)
    usual = Settings()
    if processes is not None and processes < CONFIRMING_PROCESSES:
        raise UsageError(f"--processes {processes}: a confirmation needs at least {CONFIRMING_PROCESSES}.")
    return msgspec.structs.replace(
        found,
        # The peer's preset counts blocks in another way, and lets nobody take turns.
        preset=usual.preset if found.preset == "peer" else found.preset,
        repeat=max(usual.repeat, found.repeat),
        rounds=max(usual.rounds, found.rounds),
        purpose="confirmation",
        processes=processes or max(CONFIRMING_PROCESSES, found.processes),
        until_verdict=False,
        time_budget_s=None if found.until_verdict else found.time_budget_s,
        twins=0,
        interleave="processes",
        verify="off",
        instruments=(),
        save_ir_format=None,
        collect_dynamo_counters=False,
        print_subprocess=False,
    )
