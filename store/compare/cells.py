"""Pair the processes of two sides cell by cell, and judge all cells together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from store.compare.calibration import Floors, between_runs, days_for, false_alarms, floor_for, floors_without
from store.compare.cell import Cell, Comparison, break_evens, differences, incomparable, speedup_changes
from store.compare.sides import Side, with_environments
from store.operators import NEAR_FLOOR
from store.query import Connection, fetch, looks, named
from store.report.findings import findings_table
from store.stats.effects import (
    effects,
    level_of,
    nan_median,
    paired_log_ratios,
    round_variance,
    variance_of_median,
)
from store.stats.floors import Floor
from store.stats.verdicts import Verdict, judge

Row = dict[str, Any]
Grid = np.ndarray[Any, Any]
"""Seconds or log-ratios, shape (processes, rounds) or (processes,)."""
FACTS = (
    *("machine_id", "accelerator_model", "threads", "dtype", "batch_size", "requested_batch_size", "optimizer"),
    *("loss", "matmul_precision", "workload", "start", "policy", "iterations_per_run", "torch", "torch_xla"),
)
WRONG_ANSWER = "wrong answer"
"""Why a side is not compared whose results are not eager's."""
MARKED = "a mark lies between the two runs"
"""Why latencies of two epochs of a series are not compared."""
APART = "the two sides have no round in common"
"""Why sides that took turns are not compared, if those of each round were disturbed on one side or the other."""
OTHER_SPEED = 1.25
"""Factor from which a reader is told that the cores were not as fast. A hyperthread that another virtual machine uses
costs 1.5 times and more. The piece of work is Python's and numpy's, so other versions of them change it somewhat."""
CORES = "a fixed piece of work took the cores {times:.2f} times as long on the new side"

ALIKE = (
    *("suite", "model", "test", "accelerator", "dtype", "requested_batch_size", "optimizer", "loss"),
    *("matmul_precision", "workload", "environment"),
)
"""Columns in which two variants must agree to be compared."""


class _Series(msgspec.Struct):
    """The rounds of one side of a cell."""

    facts: Row
    rounds: dict[tuple[int, int], float]
    """Median by (process, round)."""
    probes_s: list[list[float | None]]
    """What a fixed piece of work took on the slowest core, and another on all of torch's threads; seconds.

    The medians over the turns of each process; None: unknown, as of an older record.
    """

    def probed_s(self) -> list[float | None]:
        """Return the median of each piece of work over the processes."""
        known = [[each for each in probe if each] for probe in zip(*self.probes_s, strict=True)]
        return [statistics.median(seconds) if seconds else None for seconds in known]


def compare(con: Connection, old: Side, new: Side) -> Comparison:
    """Compare two sides; noise floors come from A/A pairs of other runs."""
    return compare_pairs(con, [with_environments(con, old, new)])


def compare_pairs(con: Connection, pairs: Sequence[tuple[Side, Side]]) -> Comparison:
    """Compare several pairs of sides of the same two runs: all their cells are judged together.

    The comparison is named after the first pair.
    """
    old, new = pairs[0]
    left = {(number, *key): series for number, (a, b) in enumerate(pairs) for key, series in _series(con, a, b).items()}
    right = {
        (number, *key): series for number, (a, b) in enumerate(pairs) for key, series in _series(con, b, a).items()
    }
    keys = [key for key in left if key in right]
    runs = sorted({old.run_id, new.run_id})
    floors = floors_without(con, runs)
    same_run = old.run_id == new.run_id
    paired = [same_run and all(side[key].facts["order"] == "interleaved" for side in (left, right)) for key in keys]
    ways = [(left[key] if left[key].facts["policy"] else right[key]).facts for key in keys]
    used = [_floor(floors, left[key], right[key]) for key in keys]
    grids = [_grids(left[key], right[key], paired=turns) for key, turns in zip(keys, paired, strict=True)]
    base, other = _stacked(grids)
    looked = looks(con, runs)
    sizes = effects(
        _log_ratios(base, other, np.array(paired, bool)),
        np.array([floor.variance for floor in used]),
        np.array([floor.freedom for floor in used]),
        0.0 if same_run else _days(con, runs, ways),
        _within(base, other, np.array(paired, bool)),
        level_of(looked),
    )
    reasons = [_reason(left[key], right[key], paired=turns) for key, turns in zip(keys, paired, strict=True)]
    verdicts = judge(sizes, np.array([floor.floor for floor in used]), reasons, interleaved=paired)
    times = [_times([side[key] for key in keys]) for side in (left, right)]
    cells = [
        _cell(left[key], right[key], verdict if turns else _with_cores(verdict, left[key], right[key]), floor, both)
        for key, verdict, turns, floor, *both in zip(keys, verdicts, paired, used, *times, strict=True)
    ]
    return Comparison(
        old=old,
        new=new,
        cells=tuple(cells),
        only_old=tuple(_name(left[key].facts) for key in left if key not in right),
        only_new=tuple(_name(right[key].facts) for key in right if key not in left),
        interleaved=all(paired),
        looks=looked,
        false_alarms=tuple(false_alarms(con, run) for run in runs),
        speedup_changes=None if old.variant or new.variant else speedup_changes(cells),
        break_even=break_evens(con, cells, old, new),
        findings=findings_table(con, runs),
    )


def _floor(floors: Floors, old: _Series, new: _Series) -> Floor:
    """Return the larger floor of both sides: which of two backends is named first must not decide on a verdict.

    A side whose policy is unknown has no floor of its own where that of the other one is known.
    """
    sides = [old.facts, new.facts]
    known = [facts for facts in sides if facts["policy"]] or sides
    return max((floor_for(floors, facts) for facts in known), key=lambda floor: floor.floor)


def _days(con: Connection, runs: Sequence[str], ways: Sequence[Row]) -> Grid:
    """Return the variance of a log-ratio between runs, from the history of each cell's machine."""
    known = between_runs(con, runs)
    return np.array([days_for(known, way) for way in ways])


def _series(con: Connection, side: Side, other: Side) -> dict[tuple[Any, ...], _Series]:
    """Return the series of a side by the key that both sides of a cell share."""
    by_key: dict[tuple[Any, ...], _Series] = {}
    for row in fetch(con, named("process_rounds"), {"run": side.run_id}):
        if side.environment not in (None, row["environment"]) or side.variant not in (None, row["variant"]):
            continue
        series = by_key.setdefault(_key(row, side, other), _Series(row, {}, []))
        series.probes_s.append(row["probes_s"])
        for number, seconds in zip(row["rounds"], row["rounds_s"], strict=True):
            series.rounds[row["replica"], number] = seconds
    return by_key


def _key(row: Row, side: Side, other: Side) -> tuple[Any, ...]:
    if side.variant or other.variant:
        return tuple(row[name] for name in ALIKE)
    by_environment = side.environment or other.environment
    return (row["experiment_id"],) if by_environment else (row["experiment_id"], row["environment"])


def _grids(old: _Series, new: _Series, *, paired: bool) -> tuple[Grid, Grid]:
    """Return the round medians of both sides: over common rounds where both took turns, else in as many rows."""
    if paired:
        common = [key for key in old.rounds if key in new.rounds]
        return _grid(old.rounds, common), _grid(new.rounds, common)
    base, other = _array(old), _array(new)
    processes = min(len(base), len(other))
    return _together(base, processes), _together(other, processes)


def _together(grid: Grid, rows_n: int) -> Grid:
    """Return so many rows: the rounds of a process each, or the medians of several where there are more processes."""
    if len(grid) == rows_n:
        return grid
    shared = [grid[row::rows_n] for row in range(rows_n)]
    rows = [part[0] if len(part) == 1 else nan_median(part) for part in shared]
    rounds_n = max(map(len, rows))
    return np.array([np.pad(row, (0, rounds_n - len(row)), constant_values=np.nan) for row in rows])


def _log_ratios(base: Grid, new: Grid, paired: Grid) -> Grid:
    """Return one log-ratio per cell and process: the median over rounds that both took in turn, else that of medians.

    Args:
        base: round medians, shape (cells, processes, rounds), seconds; NaN marks a missing one.
        new: the same of the other side.
        paired: whether both sides of a cell took turns, shape (cells,).
    """
    medians = [nan_median(side)[..., None] for side in (base, new)]
    return np.where(paired[:, None], paired_log_ratios(base, new), paired_log_ratios(*medians))


def _within(base: Grid, new: Grid, paired: Grid) -> Grid:
    """Return the variance of each log-ratio, from the rounds inside the processes; arguments as above."""
    apart = variance_of_median(np.log(base)) + variance_of_median(np.log(new))
    return np.where(paired[:, None], round_variance(base, new), apart)


def _array(series: _Series) -> Grid:
    return _grid(series.rounds, list(series.rounds))


def _grid(medians: Mapping[tuple[int, int], float], keys: Sequence[tuple[int, int]]) -> Grid:
    """Return the round medians of `keys` in shape (processes, rounds), NaN where there is none."""
    processes = sorted({process for process, _ in keys}) or [0]
    rounds = sorted({number for _, number in keys}) or [0]
    wanted = set(keys)
    return np.array(
        [[medians[process, turn] if (process, turn) in wanted else np.nan for turn in rounds] for process in processes]
    )


def _stacked(pairs: Sequence[tuple[Grid, Grid]]) -> tuple[Grid, Grid]:
    """Return the grids of both sides in one shape, though one side has more rounds than the other."""
    every = _stack([side for pair in pairs for side in pair])
    return every[::2], every[1::2]


def _stack(grids: Sequence[Grid]) -> Grid:
    """Return grids of several cells as one, shape (cells, processes, rounds); NaN where a cell has fewer."""
    shape = np.max([grid.shape for grid in grids], axis=0) if grids else (1, 1)
    stacked = np.full((len(grids), *shape), np.nan)
    for cell, grid in zip(stacked, grids, strict=True):
        cell[: grid.shape[0], : grid.shape[1]] = grid
    return stacked


def _reason(old: _Series, new: _Series, *, paired: bool) -> str | None:
    for word, side in (("old", old), ("new", new)):
        if not side.facts["ran"]:
            return f"{word} side: {side.facts['reason']}"
        if side.facts["verification_code"] == "FAIL":
            return f"{word} side: {WRONG_ANSWER}"
        if side.facts["near_floor"]:
            return f"{word} side: below {NEAR_FLOOR:g} times the time of an empty sync, so mostly synchronisation"
    different = incomparable(*({name: side.facts[name] for name in FACTS} for side in (old, new)))
    if different is None and _has_mark_between(old.facts, new.facts):
        different = MARKED
    apart = paired and old.rounds and new.rounds and not old.rounds.keys() & new.rounds.keys()
    return different or (APART if apart else None)


def _with_cores(verdict: Verdict, old: _Series, new: _Series) -> Verdict:
    """Add to the reason of a verdict on sides that took no turns that the cores were faster for one of them."""
    pairs = zip(old.probed_s(), new.probed_s(), strict=True)
    changes = [after / before for before, after in pairs if before and after]
    times = max(changes, key=lambda change: abs(math.log(change)), default=1.0)
    if verdict.ratio is None or 1 / OTHER_SPEED < times < OTHER_SPEED:
        return verdict
    return replace(verdict, reason=f"{verdict.reason}; {CORES.format(times=times)}")


def _has_mark_between(old: Row, new: Row) -> bool:
    """Tell whether an epoch of either series begins between the two runs."""
    first, last = sorted((old["run_started"], new["run_started"]))
    return any(first < begin <= last for begin in (*old["epochs_begin"], *new["epochs_begin"]))


def _cell(old: _Series, new: _Series, verdict: Verdict, floor: Floor, times: Sequence[float | None]) -> Cell:
    facts = new.facts
    return Cell(
        suite=facts["suite"],
        model=facts["model"],
        test=facts["test"],
        variant=facts["variant"],
        environment=facts["environment"],
        experiment_id=facts["experiment_id"],
        old_environment=old.facts["environment"],
        old_experiment_id=old.facts["experiment_id"],
        alike=tuple(facts[name] for name in ALIKE),
        old_s=times[0],
        new_s=times[1],
        verdict=verdict,
        fails_in_new_only=(old.facts["outcome"], facts["outcome"]) == ("P", "F"),
        floor=floor,
        differs=tuple(differences(*({name: facts_of[name] for name in FACTS} for facts_of in (old.facts, new.facts)))),
    )


def _times(every: Sequence[_Series]) -> list[float | None]:
    """Return the median over processes of their medians of each; None where nothing was timed."""
    values = nan_median(nan_median(_stack([_array(series) for series in every])))
    return [None if np.isnan(value) else float(value) for value in values]


def _name(facts: Row) -> str:
    return f"{facts['suite']}/{facts['model']} {facts['test']} {facts['variant']} ({facts['environment']})"
