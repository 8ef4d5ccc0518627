"""Requests for what was measured before: experiments of a run once more, or both sides of a comparison in turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from runner.home import settings_file
from runner.jobs.offers import exactly
from runner.jobs.request import Protocol, RunRequest
from runner.plan import earlier_environment
from runner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from store.record import Environment, PlanEntry, RunFile

_KEPT = (
    *("preset", "repeat", "until_stable", "iterations_per_run", "processes", "twins", "interleave", "rounds", "rewarm"),
    *("warmup_min", "warmup_max", "steady_blocks", "timeout_s", "threads", "seed", "start", "device_index"),
    *("raise_priority", "memory_limit_bytes", "verify", "verify_iterations", "tolerance", "cosine"),
)
"""Settings of a run that its rerun has, too: how was measured. Dumps and budgets belong to the run that asked."""
SAME = (
    "Both sides ran in the same interpreter and differ only in date, so a new measurement cannot separate them. "
    "Measure B again instead, or compare with a run of another environment."
)


def planned(file: RunFile, cells: Iterable[tuple[str, str]], beside: Collection[str] = ()) -> tuple[PlanEntry, ...]:
    """Return what a run had planned for some results, each once.

    Args:
        file: the run's.
        cells: experiment and environment of each; what the plan does not hold is left out.
        beside: backends of the same groups that take turns with them, as the baseline.
    """
    wanted = set(cells)
    groups = {(e.group, e.environment) for e in file.plan if (e.experiment_id, e.environment) in wanted}
    return tuple(
        msgspec.structs.replace(entry, skip_reason=None)
        for entry in file.plan
        if (entry.experiment_id, entry.environment) in wanted
        or (entry.backend in beside and entry.runnable and (entry.group, entry.environment) in groups)
    )


def rerun(file: RunFile, entries: Iterable[PlanEntry], processes: int | None = None) -> RunRequest:
    """Return the request that measures entries of a run's plan once more, in a run of its own, as that run did.

    Args:
        file: the run's.
        entries: at least one.
        processes: of each experiment; None: as the run.
    """
    return exactly(entries, rerun_settings(file.settings), RunRequest(protocol=Protocol(processes=processes)))


def rerun_settings(of_run: dict[str, Any]) -> dict[str, object]:
    """Return what a run's settings have beyond the usual ones and a rerun has, too."""
    found = msgspec.convert(of_run, Settings)
    usual = Settings()
    return {name: value for name in _KEPT if (value := getattr(found, name)) != getattr(usual, name)}


def cannot_confirm(
    sides: tuple[RunFile, RunFile], pairs: Iterable[tuple[str, str]], home: Path, *, same_code: bool = True
) -> str | None:
    """Say why two sides cannot be measured again in their own environments, or None.

    It looks whether their interpreters are still there; whether they are still what they were, the job asks them.

    Args:
        sides: the runs' files, old and new.
        pairs: environments of the cells in question, old and new.
        home: names further environments.
        same_code: the sides differ in nothing but the environment, not in the backend.
    """
    named = settings_file.interpreters(home, settings_file.read(home))
    apart = False
    for pair in dict.fromkeys(pairs):
        places = []
        for file, name in zip(sides, pair, strict=True):
            was = _environment(file, name)
            if was is None:
                return f"Run {file.run.label} does not describe its environment {name}."
            place = earlier_environment.place(was, named)
            if place is None:
                what = earlier_environment.gone(earlier_environment.Before(name=name, was=was, run=file.run.label))
                return f"{what}. Name one with the same versions as {name} in [environments] of xlabench.toml."
            places.append(place)
        apart = apart or not same_code or not earlier_environment.same_place(*places)
    return None if apart else SAME


def _environment(file: RunFile, name: str) -> Environment | None:
    return next((each for each in file.environments if each.name == name), None)
