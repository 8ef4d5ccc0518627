"""`xlabench compare A B --confirm`: measure the suspected cells of both sides again, interleaved, and judge them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.home import settings_file
from runner.plan import earlier_run, plan_view
from runner.schedule import run_folder
from runner.suites import get_suite, torchbench
from runner.suites.base import SuiteContext
from store.compare import Confirmation, compare_pairs
from store.errors import RunFileError, UsageError
from store.query import fetch
from store.run_file import read_run_file
from xlabench.command import index_of
from xlabench.measuring import Place, carry_out
from xlabench.own import models_of_records

if TYPE_CHECKING:
    from runner.plan.interpreters import Interpreter
    from runner.schedule.run_folder import RunFolder
    from store.compare import Cell, Comparison, Side
    from store.query import Connection
    from store.record import Environment, PlanEntry, RunFile

_FOLDER = """
SELECT regexp_replace(coalesce(planned.path, run.path), '/run[.]json$', '') AS path
FROM runs AS run LEFT JOIN latest_run_files AS planned USING (run_id)
WHERE run_id = $run
"""
"""The folder of the plan; the records may have been packed, or copied elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Confirming:
    """Where a confirmation is measured, and settings that only a command may have."""

    place: Place
    interpreters: Mapping[str, Path | None] = field(default_factory=dict)
    """Environment of the confirming run → its interpreter."""
    torchbench_dir: Path | None = None
    models: tuple[str, ...] = ()
    """Sources of the user's own models."""


@dataclass(frozen=True)
class Files:
    """The `run.json` of both runs of a comparison."""

    old: RunFile
    new: RunFile


def chosen(cells: Sequence[Cell], experiments: Sequence[str]) -> Sequence[Cell]:
    """Return the cells of these experiments; without any named, all.

    Raises:
        UsageError: no cell that is to be confirmed is of one that is named.
    """
    ids = {cell.experiment_id for cell in cells}
    if unknown := [experiment for experiment in experiments if experiment not in ids]:
        raise UsageError(
            f"--experiment {unknown[0]}: it is not an experiment to confirm. Remove it, or pass "
            "--confirm all to include the ambiguous ones."
        )
    return [cell for cell in cells if cell.experiment_id in experiments] if experiments else cells


def files_of(con: Connection, comparison: Comparison) -> Files:
    """Return the `run.json` of both sides.

    Raises:
        UsageError: a run has none: what it measured is not known well enough to be measured again.
    """
    return Files(old=_file(con, comparison.old), new=_file(con, comparison.new))


def _file(con: Connection, side: Side) -> RunFile:

    rows = fetch(con, _FOLDER, {"run": side.run_id})
    if not rows:
        raise UsageError(f"Run {side.run_id} is itself a confirmation. Name the runs that it confirmed.")
    try:
        return read_run_file(str(rows[0]["path"]))
    except RunFileError as error:
        raise UsageError(f"Run {side.run_id} cannot be measured again: {error}") from None


def confirm(
    how: Confirming, comparison: Comparison, files: Files, cells: Sequence[Cell], processes: int | None
) -> tuple[list[Confirmation], Comparison | None]:
    """Measure these cells again; return what became of each, and the comparison of both sides as measured again.

    Raises:
        UsageError: a side cannot be measured as it was.
    """
    names = _names(comparison, cells)
    interpreters = _interpreters(how, comparison, files, names, _context(how, cells))
    repeatable = [cell for cell in cells if _differ(comparison, interpreters, *_named(cell, names))]
    new_cells: dict[tuple[str, str], Cell] = {}
    measured = None
    if repeatable:
        entries = _entries(files, names, repeatable)
        folder = _measure(how, comparison, files, entries, interpreters, processes)
        measured = _judge(how, comparison, folder, {_named(cell, names): None for cell in repeatable})
        new_cells = {(cell.experiment_id, cell.environment): cell for cell in measured.cells}
    results = [
        Confirmation(
            before=cell,
            remeasured=new_cells.get((cell.experiment_id, _named(cell, names)[1])),
            same_environment=cell not in repeatable,
        )
        for cell in cells
    ]
    return results, measured


Names = dict[tuple[str, str], tuple[str, str]]
"""Environments of both sides in their runs → their names in the confirming run."""


def _names(comparison: Comparison, cells: Sequence[Cell]) -> Names:
    """Name the environments of the confirming run: old and new, with their own names where there are several pairs."""
    pairs = list(dict.fromkeys((cell.old_environment, cell.environment) for cell in cells))
    if comparison.new.variant is not None:
        return {pair: pair for pair in pairs}
    if len(pairs) == 1:
        return {pairs[0]: ("old", "new")}
    return {(old, new): (f"old-{old}", f"new-{new}") for old, new in pairs}


def _named(cell: Cell, names: Names) -> tuple[str, str]:
    return names[cell.old_environment, cell.environment]


def _context(how: Confirming, cells: Sequence[Cell]) -> SuiteContext | None:
    """Return where torchbench is; None where no cell needs it.

    Raises:
        UsageError: it is not there.
    """
    if all(cell.suite != "torchbench" for cell in cells):
        return None
    if torchbench.find(how.torchbench_dir) is None:
        raise UsageError(torchbench.advice(how.torchbench_dir))
    return SuiteContext(torchbench_dir=how.torchbench_dir)


def _interpreters(
    how: Confirming, comparison: Comparison, files: Files, names: Names, context: SuiteContext | None
) -> dict[str, Interpreter]:
    """Find the interpreters of both sides, by the names in the confirming run, and check that they are what they were.

    Raises:
        UsageError: one is not to be found, or no longer what it was; or a name that is none of theirs.
    """
    home = how.place.home
    named = settings_file.interpreters(home, settings_file.read(home))
    sides = ((comparison.old, files.old), (comparison.new, files.new))
    wanted = {
        name: earlier_run.EarlierEnvironment(name=name, was=_environment(file, before), run=side.text)
        for pair, pair_names in names.items()
        for (side, file), before, name in zip(sides, pair, pair_names, strict=True)
    }
    if unknown := [name for name, python in how.interpreters.items() if name not in wanted or python is None]:
        raise UsageError(f"--env {unknown[0]}: expected NAME=PYTHON, where NAME is one of {', '.join(wanted)}.")
    sources = {} if context is None else {"torchbench_commit": None, **get_suite("torchbench").versions(context)}
    typed = {name: python for name, python in how.interpreters.items() if python is not None}
    return {name: earlier_run.find(before, typed, named, sources) for name, before in wanted.items()}


def _environment(file: RunFile, name: str) -> Environment:

    for environment in file.environments:
        if environment.name == name:
            return environment
    raise UsageError(f"Run {file.run.run_id} does not describe its environment {name}, so it cannot be measured again.")


def _differ(comparison: Comparison, interpreters: Mapping[str, Interpreter], old: str, new: str) -> bool:
    """Say whether a new measurement can tell the sides apart: by what compiles, or by where it runs."""
    backends = (comparison.old.variant, comparison.new.variant)
    return backends[0] != backends[1] or not earlier_run.same_interpreter(interpreters[old], interpreters[new])


def _entries(files: Files, names: Names, cells: Sequence[Cell]) -> list[tuple[PlanEntry, PlanEntry]]:
    """Return the planned experiments of both sides of each cell, under the names of the confirming run."""
    entries = []
    for cell in cells:
        old, new = _named(cell, names)
        before = earlier_run.planned(files.old, cell.old_experiment_id, cell.old_environment)
        after = earlier_run.planned(files.new, cell.experiment_id, cell.environment)
        entries.append(
            (msgspec.structs.replace(before, environment=old), msgspec.structs.replace(after, environment=new))
        )
    return entries


def _measure(
    how: Confirming,
    comparison: Comparison,
    files: Files,
    entries: Sequence[tuple[PlanEntry, PlanEntry]],
    interpreters: Mapping[str, Interpreter],
    processes: int | None,
) -> RunFolder:
    """Measure both sides in a run of its own; the same command goes on with it where it was interrupted."""
    place = how.place
    plan = earlier_run.side_by_side(entries)
    used = {entry.environment for entry in plan.entries}
    chosen = [interpreter for name, interpreter in interpreters.items() if name in used]
    own = models_of_records((entry.config for entry in plan.entries), how.models, chosen[0].machine.python)
    new = run_folder.new_run(
        plan,
        chosen,
        earlier_run.confirming(files.new.settings, processes),
        label=f"confirm {comparison.old.text} {comparison.new.text}",
        command=place.command,
    )
    folder = run_folder.open_folder(place.home, None, new)
    # Standard output contains only the verdicts, so that programs can read them.
    print(plan_view.headline(plan, folder.path, resumed=folder.resumed), file=sys.stderr)
    # Its verdicts are read from the store, and no earlier failure is its concern.
    place = replace(place, ingest=True, retry_failed=False)
    carry_out(folder, chosen, place, sys.stderr, torchbench_dir=how.torchbench_dir, own=own)
    return folder


def _judge(
    how: Confirming, comparison: Comparison, folder: RunFolder, pairs: Mapping[tuple[str, str], None]
) -> Comparison:
    """Compare both sides as the confirming run has them."""
    run = folder.file.run.run_id
    old, new = (
        msgspec.structs.replace(side, run_id=run, environment=None) for side in (comparison.old, comparison.new)
    )
    sides = [(old, new)]
    if comparison.new.variant is None:
        named = msgspec.structs.replace
        sides = [(named(old, environment=before), named(new, environment=after)) for before, after in pairs]
    with index_of(how.place.store) as con:
        return compare_pairs(con, sides)
