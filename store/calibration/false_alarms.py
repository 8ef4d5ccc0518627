"""How often a run's own rule would have called equal things different: its A/A controls, judged as everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from store.calibration.floors import floor_for, floors_without
from store.query import fetch, looks, named
from store.stats.binomial import clopper_pearson
from store.stats.effects import effects, level_of
from store.stats.verdicts import judge

if TYPE_CHECKING:
    from store.query import Connection


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """How many A/A controls of a run were called faster or slower, with the rate's 95 % interval."""

    run_id: str
    twins: int
    called: int
    low: float
    high: float

    def sentence(self) -> str:
        """Say it in one line."""
        if not self.twins:
            return f"Run {self.run_id} has no A/A controls, so its own rate of false alarms is unknown."
        twins = "1 A/A control" if self.twins == 1 else f"{self.twins} A/A controls"
        return (
            f"{self.called} of {twins} of run {self.run_id} would have been called different "
            f"(95 % bounds of the rate: {self.low:.0%} to {self.high:.0%})."
        )


def false_alarms(con: Connection, run_id: str) -> FalseAlarms:
    """Judge the A/A controls of a run against their originals, with floors of other runs.

    They are judged among themselves: fewer cells adjust p less, so that the rate is rather too high than too low.
    The level of the intervals is that of the run's own verdicts.
    """
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in fetch(con, named("twin_pairs"), {"run": run_id}):
        cells.setdefault((row["experiment_id"], row["environment"], row["attempt"]), []).append(row)
    called = _called(con, run_id, list(cells.values()))
    low, high = clopper_pearson(called, len(cells))
    return FalseAlarms(run_id=run_id, twins=len(cells), called=called, low=low, high=high)


def _called(con: Connection, run_id: str, cells: list[list[dict[str, Any]]]) -> int:
    if not cells:
        return 0
    floors = floors_without(con, {run_id})
    used = [floor_for(floors, rows[0]) for rows in cells]
    width = max(len(rows) for rows in cells)
    found = effects(
        _padded(cells, "log_ratio", width),
        [floor.variance for floor in used],
        [floor.freedom for floor in used],
        within=_padded(cells, "round_variance", width),
        level=level_of(looks(con, [run_id])),
    )
    verdicts = judge(found, [floor.floor for floor in used], [None] * len(cells), interleaved=True)
    return sum(verdict.word in ("faster", "slower") for verdict in verdicts)


def _padded(cells: list[list[dict[str, Any]]], column: str, width: int) -> list[list[float]]:
    """Return one row per cell, one value per pair of processes; NaN where there is none."""
    known = [[np.nan if row[column] is None else float(row[column]) for row in rows] for rows in cells]
    return [row + [np.nan] * (width - len(row)) for row in known]
