"""Results of comparing identical experiments (A/A): noise floors, drift between days, and false alarms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from store.query import Connection, fetch, looks, named
from store.stats.effects import effects, level_of
from store.stats.floors import Floor, default_floor, floor_of
from store.stats.verdicts import judge

Floors = dict[tuple[Any, ...], Floor]
"""Machine, how it measured, and experiment → noise floor; experiment None: all that the machine measured so."""
NOT_CALIBRATED = (
    "A floor from 0 A/A pairs is the default, because this machine has not been calibrated (`xlabench calibrate`)."
)
"""Note of a report with the default floor."""


def floors_without(con: Connection, runs: Iterable[str]) -> Floors:
    """Return the floors that all runs but these have shown."""
    pairs: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in fetch(con, named("aa_pairs"), {"runs": sorted(set(runs))}):
        for experiment in (row["experiment_id"], None):
            pairs[*_way(row, row["policy"]), experiment].append(float(row["log_ratio"]))
    return {key: floor_of(values) for key, values in pairs.items()}


def floor_for(floors: Mapping[tuple[Any, ...], Floor], facts: Mapping[str, Any]) -> Floor:
    """Return the experiment's own floor, else the machine's, both from pairs measured alike, else the named default."""
    keys = [(*way, experiment) for experiment in (facts["experiment_id"], None) for way in _ways(facts)]
    return next((floors[key] for key in keys if key in floors), None) or default_floor()


def _way(facts: Mapping[str, Any], policy: Any) -> tuple[Any, ...]:
    """Return the machine and how it measured."""
    return facts["machine_id"], facts["accelerator"], facts["measured"], policy


def _ways(facts: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """Return the ways that are alike: a policy that is unknown of others, older ones, is no difference."""
    return _way(facts, facts["policy"]), _way(facts, None)


DEFAULT_DEVIATION = 0.015
"""Standard deviation of a log-ratio between two runs where the history shows none."""
DEFAULT_FREEDOM = 4.0
"""How much that counts against what the history shows."""


def between_runs(con: Connection, runs: Iterable[str]) -> dict[tuple[Any, ...], float]:
    """Return by machine and how it measured the variance of a log-ratio between two runs, from all runs but these.

    A log-ratio is a difference of two runs, so its variance is twice that of one run. It contains the scatter between
    processes of one run, which counts a second time: the interval is too wide rather than too narrow.
    """
    rows = fetch(con, named("between_runs"), {"runs": sorted(set(runs))})
    return {_way(row, row["policy"]): _pooled(2 * float(row["squares"]), float(row["freedom"])) for row in rows}


def days_for(history: Mapping[tuple[Any, ...], float], facts: Mapping[str, Any]) -> float:
    """Return what the history of the machine shows of runs that measured alike, else the default."""
    return next((history[way] for way in _ways(facts) if way in history), _pooled(0.0, 0.0))


def _pooled(squares: float, freedom: float) -> float:
    return (DEFAULT_FREEDOM * DEFAULT_DEVIATION**2 + squares) / (DEFAULT_FREEDOM + freedom)


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Return the exact two-sided 95 % interval of a rate (Clopper and Pearson 1934); (0, 1) without trials."""
    from scipy.special import betaincinv  # noqa: PLC0415 (measuring environments need no scipy)

    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    tail = (1 - 0.95) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return low, high


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """How many A/A controls of a run were called faster or slower, with the rate's 95 % interval."""

    run_id: str
    twins: int
    called: int
    low: float
    high: float

    def sentence(self) -> str:
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
    sizes = effects(
        _padded(cells, "log_ratio", width),
        [floor.variance for floor in used],
        [floor.freedom for floor in used],
        within=_padded(cells, "round_variance", width),
        level=level_of(looks(con, [run_id])),
    )
    verdicts = judge(sizes, [floor.floor for floor in used], [None] * len(cells), interleaved=True)
    return sum(verdict.word in ("faster", "slower") for verdict in verdicts)


def _padded(cells: list[list[dict[str, Any]]], column: str, width: int) -> list[list[float]]:
    """Return one row per cell, one value per pair of processes; NaN where there is none."""
    values = [[np.nan if row[column] is None else float(row[column]) for row in rows] for rows in cells]
    return [row + [np.nan] * (width - len(row)) for row in values]
