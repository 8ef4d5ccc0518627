"""What follows from a comparison: who moved a speedup, and when a compiler has earned its compile time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from store.query import DEFAULT_BASELINE, fetch, named
from store.report.table import Column, Table
from store.stats.change import break_even, split_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.compare.cell import Cell
    from store.compare.sides import Side
    from store.query import Connection
    from store.report.table import Cell as Value

_NAMES = (Column(title="suite"), Column(title="model"), Column(title="test"), Column(title="variant"))
_SPLIT = (
    *_NAMES,
    Column(title="environment"),
    Column(title="speedup old", digits=3, numeric=True, definition="Baseline time / time on the old side."),
    Column(title="speedup new", digits=3, numeric=True, definition="The same on the new side."),
    Column(title="new / old", digits=3, numeric=True, definition="Product of the next two columns."),
    Column(title="by the backend", digits=3, numeric=True, definition="Its old time / its new time."),
    Column(title="by the baseline", digits=3, numeric=True, definition="The baseline's new time / its old time."),
)
_BREAK_EVEN = (
    *_NAMES,
    Column(title="wait old", unit="s", numeric=True, definition="Time to the steady state beyond steady iterations."),
    Column(title="wait new", unit="s", numeric=True, definition="The same of the new side."),
    Column(title="ahead", definition="Time from which the new side has done the whole work earlier."),
    Column(
        title="iterations",
        digits=0,
        numeric=True,
        definition="Iterations until the new side is ahead, where it is not ahead from the start.",
    ),
)


def speedup_changes(cells: Sequence[Cell]) -> Table | None:
    """Return how each speedup over inductor moved, and how much of it is only its baseline; None without a baseline."""
    baselines = {cell.alike: cell for cell in cells if cell.variant == DEFAULT_BASELINE and _timed(cell)}
    moved = [cell for cell in cells if cell.variant != DEFAULT_BASELINE and cell.alike in baselines and _timed(cell)]
    if not moved:
        return None
    base = [baselines[cell.alike] for cell in moved]
    times = [[cell.old_s for cell in base], [cell.old_s for cell in moved]]
    times += [[cell.new_s for cell in base], [cell.new_s for cell in moved]]
    old_base, old, new_base, new = (np.array(each, float) for each in times)
    split = split_change(old_base, old, new_base, new)
    numbers = np.stack(
        [old_base / old, new_base / new, split.backend * split.baseline, split.backend, split.baseline], axis=1
    )
    rows = tuple((*_names(cell), cell.environment, *map(float, row)) for cell, row in zip(moved, numbers, strict=True))
    return Table(title=f"Speedups over {DEFAULT_BASELINE}: backend or baseline?", columns=_SPLIT, rows=rows)


def break_evens(con: Connection, cells: Sequence[Cell], old: Side, new: Side) -> Table | None:
    """Return from when on the new backend is ahead, its compile time included; None where no backends are compared."""
    if old.variant is None or new.variant is None:
        return None
    before, after = (_waits(con, side) for side in (old, new))
    known = []
    for cell in cells:
        mine = after.get((cell.experiment_id, cell.environment))
        base = before.get((cell.old_experiment_id, cell.old_environment))
        if _timed(cell) and mine is not None and base is not None:
            known.append((cell, mine, base))
    if not known:
        return None
    found = break_even(
        [mine.wait_s for _, mine, _ in known],
        [mine.latency_s for _, mine, _ in known],
        [base.wait_s for _, _, base in known],
        [base.latency_s for _, _, base in known],
    )
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (*_names(cell), base.wait_s, mine.wait_s, str(outcome), None if np.isnan(n) else int(n))
        for (cell, mine, base), outcome, n in zip(known, found.outcome, found.iterations, strict=True)
    )
    return Table(title="Break-even: compile time against speed", columns=_BREAK_EVEN, rows=rows)


def _timed(cell: Cell) -> bool:
    return cell.verdict.word != "not comparable" and bool(cell.old_s) and bool(cell.new_s)


def _names(cell: Cell) -> tuple[Value, ...]:
    return cell.suite, cell.model, cell.test, cell.variant


class _Work(NamedTuple):
    """What a result has to do: wait once, then iterate."""

    wait_s: float
    latency_s: float


def _waits(con: Connection, side: Side) -> dict[tuple[str, str], _Work]:
    rows = fetch(con, named("waits"), {"run": side.run_id})
    return {
        (row["experiment_id"], row["environment"]): _Work(float(row["time_to_steady_s"]), float(row["latency_s"]))
        for row in rows
        if row["time_to_steady_s"] is not None
    }
