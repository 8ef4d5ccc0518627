"""Pair the processes of two sides cell by cell, and judge all cells together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from store.calibration.between_runs import between_runs, unknown_history
from store.calibration.false_alarms import FalseAlarms, false_alarms
from store.calibration.floors import floor_for, floors_without
from store.compare.consequences import break_evens, speedup_changes
from store.compare.sides import Side
from store.query import fetch, looks, named
from store.report.findings import findings_table
from store.report.table import Table
from store.stats.differences import Difference, differences, incomparable
from store.stats.effects import effects, level_of, paired_log_ratios, round_variance, variance_of_median
from store.stats.floors import Floor
from store.stats.verdicts import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.query import Connection

Row = dict[str, Any]
Grid = np.ndarray[Any, Any]
"""Seconds or log-ratios, shape (processes, rounds) or (processes,)."""
FACTS = (
    *("machine_id", "accelerator_model", "threads", "dtype", "batch_size", "requested_batch_size", "optimizer"),
    *("loss", "matmul_precision", "workload", "start", "iterations_per_run", "torch", "torch_xla"),
)


ALIKE = (
    *("suite", "model", "test", "accelerator", "dtype", "requested_batch_size", "optimizer", "loss", "workload"),
    "environment",
)
"""What two variants have in common that may be compared."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment on both sides; times are medians over processes of their medians, seconds per iteration."""

    suite: str
    model: str
    test: str
    variant: str
    environment: str
    experiment_id: str
    old_environment: str
    old_experiment_id: str
    """Of the old side; those above are the new side's."""
    alike: tuple[Any, ...]
    """What cells have in common whose variants alone differ."""
    old_s: float | None
    new_s: float | None
    verdict: Verdict
    floor: Floor
    differs: tuple[Difference, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides and their cells; `only_old` and `only_new` are what one side alone has."""

    old: Side
    new: Side
    cells: tuple[Cell, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    interleaved: bool
    """Both sides of every cell took turns."""
    looks: int = 1
    """How often the runs' verdicts may have been asked for while processes were added."""
    false_alarms: tuple[FalseAlarms, ...] = ()
    """Of the runs behind the sides."""
    speedup_changes: Table | None = None
    break_even: Table | None = None
    findings: Table | None = None

    def of(self, *words: str) -> tuple[Cell, ...]:
        """Return the cells with one of these verdicts."""
        return tuple(cell for cell in self.cells if cell.verdict.word in words)


class _Series(msgspec.Struct):
    """What one side has of a cell."""

    facts: Row
    rounds: dict[tuple[int, int], float]
    """Median by (process, round)."""


def compare(con: Connection, old: Side, new: Side) -> Comparison:
    """Compare two sides; noise floors come from A/A pairs of other runs."""
    return compare_pairs(con, [(old, new)])


def compare_pairs(con: Connection, pairs: Sequence[tuple[Side, Side]]) -> Comparison:
    """Compare several pairs of sides of the same two runs: all their cells are judged together.

    The comparison is named after the first pair.
    """
    old, new = pairs[0]
    left = {(number, *key): each for number, (a, b) in enumerate(pairs) for key, each in _series(con, a, b).items()}
    right = {(number, *key): each for number, (a, b) in enumerate(pairs) for key, each in _series(con, b, a).items()}
    keys = [key for key in left if key in right]
    runs = sorted({old.run_id, new.run_id})
    floors = floors_without(con, runs)
    same_run = old.run_id == new.run_id
    paired = [same_run and _took_turns(left[key], right[key]) for key in keys]
    used = [floor_for(floors, left[key].facts) for key in keys]
    grids = [_grids(left[key], right[key], paired=turns) for key, turns in zip(keys, paired, strict=True)]
    looked = looks(con, runs)
    found = effects(
        _stack([_log_ratios(*both, paired=turns) for both, turns in zip(grids, paired, strict=True)]),
        np.array([floor.variance for floor in used]),
        np.array([floor.freedom for floor in used]),
        0.0 if same_run else _days(con, runs, [left[key].facts["machine_id"] for key in keys]),
        _stack([_within(*both, paired=turns) for both, turns in zip(grids, paired, strict=True)]),
        level_of(looked),
    )
    reasons = [_reason(left[key], right[key]) for key in keys]
    verdicts = judge(found, np.array([floor.floor for floor in used]), reasons, interleaved=paired)
    cells = [
        _cell(left[key], right[key], verdict, floor) for key, verdict, floor in zip(keys, verdicts, used, strict=True)
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


def _took_turns(old: _Series, new: _Series) -> bool:
    return all(side.facts["order"] == "interleaved" for side in (old, new))


def _days(con: Connection, runs: Sequence[str], machines: Sequence[Any]) -> Grid:
    """Return what the history of each cell's machine says of the variance of a log-ratio between runs."""
    known = between_runs(con, runs)
    return np.array([known.get(machine, unknown_history()) for machine in machines])


def _series(con: Connection, side: Side, other: Side) -> dict[tuple[Any, ...], _Series]:
    """Return the side's series by what a cell of this comparison has in common on both sides."""
    found: dict[tuple[Any, ...], _Series] = {}
    for row in fetch(con, named("process_rounds"), {"run": side.run_id}):
        if side.environment not in (None, row["environment"]) or side.variant not in (None, row["variant"]):
            continue
        series = found.setdefault(_key(row, side, other), _Series(row, {}))
        if row["round_s"] is not None:
            series.rounds[int(row["replica"]), int(row["round"] or 0)] = float(row["round_s"])
    return found


def _key(row: Row, side: Side, other: Side) -> tuple[Any, ...]:
    if side.variant or other.variant:
        return tuple(row[name] for name in ALIKE)
    by_environment = side.environment or other.environment
    return (row["experiment_id"],) if by_environment else (row["experiment_id"], row["environment"])


def _grids(old: _Series, new: _Series, *, paired: bool) -> tuple[Grid, Grid]:
    """Return the round medians of both sides: over common rounds where both took turns, else of as many processes."""
    if paired:
        common = [key for key in old.rounds if key in new.rounds]
        return _grid(old.rounds, common), _grid(new.rounds, common)
    base, other = _array(old), _array(new)
    processes = min(len(base), len(other))
    return base[:processes], other[:processes]


def _log_ratios(base: Grid, new: Grid, *, paired: bool) -> Grid:
    """Return one log-ratio per process: the median over rounds that both took in turn, else that of their medians."""
    if paired:
        return paired_log_ratios(base, new)
    medians = [np.array([[_median(row)] for row in side]) for side in (base, new)]
    return paired_log_ratios(*medians)


def _within(base: Grid, new: Grid, *, paired: bool) -> Grid:
    """Return what the rounds inside the processes say of the variance of each log-ratio."""
    if paired:
        return round_variance(base, new)
    return variance_of_median(np.log(base)) + variance_of_median(np.log(new))


def _array(series: _Series) -> Grid:
    return _grid(series.rounds, list(series.rounds))


def _grid(medians: Mapping[tuple[int, int], float], keys: Sequence[tuple[int, int]]) -> Grid:
    """Return the round medians of `keys` in shape (processes, rounds), NaN where there is none."""
    processes = sorted({process for process, _ in keys}) or [0]
    rounds = sorted({number for _, number in keys}) or [0]
    wanted = set(keys)
    return np.array(
        [[medians[process, each] if (process, each) in wanted else np.nan for each in rounds] for process in processes]
    )


def _stack(rows: Sequence[Grid]) -> Grid:
    width = max((len(row) for row in rows), default=1)
    return np.array([np.pad(row, (0, width - len(row)), constant_values=np.nan) for row in rows]).reshape(-1, width)


def _reason(old: _Series, new: _Series) -> str | None:
    for word, side in (("old", old), ("new", new)):
        if not side.facts["ran"]:
            return f"{word} side: {side.facts['reason']}"
        if side.facts["verification_code"] == "FAIL":
            return f"{word} side: wrong answer"
    return incomparable(*({name: side.facts[name] for name in FACTS} for side in (old, new)))


def _cell(old: _Series, new: _Series, verdict: Verdict, floor: Floor) -> Cell:
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
        old_s=_time(old),
        new_s=_time(new),
        verdict=verdict,
        floor=floor,
        differs=tuple(differences(*({name: each[name] for name in FACTS} for each in (old.facts, new.facts)))),
    )


def _time(series: _Series) -> float | None:
    value = _median(np.array([_median(row) for row in _array(series)]))
    return None if np.isnan(value) else float(value)


def _median(values: Grid) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def _name(facts: Row) -> str:
    return f"{facts['suite']}/{facts['model']} {facts['test']} {facts['variant']} ({facts['environment']})"
