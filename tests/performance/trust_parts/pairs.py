"""A/A pairs of a calibration, judged as a comparison judges its cells; beside it the rules of others."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from store.choose import newest_snapshot
from store.compare.calibration import clopper_pearson, floor_for, floors_without
from store.query import connect, fetch
from store.record import Record
from store.run_file import RESULTS, read_records, read_run_file
from store.stats.effects import effects
from store.stats.verdicts import Verdict, judge
from tests.store.oracle import peer

PROCESSES = 3
HUD_CHANGE = 0.05
_PAIRS = """
SELECT p.*, r.replica FROM aa_pairs AS p JOIN records AS r ON r.record_id = p.first_id
WHERE list_contains($runs, p.run_id) ORDER BY p.experiment_id, r.replica
"""
Row = dict[str, Any]


@dataclass(frozen=True)
class Rate:
    """How many of how many, with the exact (Clopper-Pearson) 95 % bounds."""

    count: int
    of: int

    def __str__(self) -> str:
        low, high = clopper_pearson(self.count, self.of)
        share = f"{self.count / self.of:.1%}" if self.of else "none"
        return f"{self.count} of {self.of} ({share}; {low:.1%} to {high:.1%})"


def cells_of(home: Path, folders: Sequence[Path]) -> list[tuple[Row, Verdict]]:
    """Judge the pairs of calibrations as cells of three processes each, with floors of the home's other runs.

    The n-th cells of all experiments are judged together, as one comparison of that many experiments would be.
    """
    runs = [read_run_file(folder).run.run_id for folder in folders]
    with connect(newest_snapshot(home / "store")) as con:
        rows = fetch(con, _PAIRS, {"runs": runs})
        floors = floors_without(con, runs)
    by_experiment: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_experiment[row["experiment_id"]].append(row)
    found = []
    for comparison in zip_longest(*(list(_chunks(each)) for each in by_experiment.values())):
        cells = [cell for cell in comparison if cell]
        found += [(cell[0], verdict) for cell, verdict in zip(cells, _judged(cells, floors), strict=True)]
    return found


def _chunks(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows) - PROCESSES + 1, PROCESSES):
        yield rows[start : start + PROCESSES]


def _judged(cells: Sequence[Sequence[Row]], floors: Any) -> list[Verdict]:
    used = [floor_for(floors, rows[0]) for rows in cells]
    found = effects(
        [[row["log_ratio"] for row in rows] for rows in cells],
        [floor.variance for floor in used],
        [floor.freedom for floor in used],
        within=[[np.nan if row["round_variance"] is None else row["round_variance"] for row in rows] for rows in cells],
    )
    return judge(found, [floor.floor for floor in used], [None] * len(cells), interleaved=True)


def called(verdicts: Iterable[Verdict]) -> Rate:
    """Count verdicts that say faster or slower."""
    words = [verdict.word for verdict in verdicts]
    return Rate(sum(word in ("faster", "slower") for word in words), len(words))


def others(folders: Sequence[Path]) -> dict[str, Rate]:
    """Apply the rules of others to each pair of processes: neither of them measures a second process."""
    pairs = [pair for folder in folders for pair in record_pairs(folder)]
    return {
        "PyTorch/XLA's: means after the third block, ± deviation apart": Rate(
            sum(_apart(first, second) for first, second in pairs), len(pairs)
        ),
        "PyTorch HUD's: mean changed by 5 % or more": Rate(
            sum(_changed(first, second) for first, second in pairs), len(pairs)
        ),
    }


def record_pairs(folder: Path) -> Iterator[tuple[Record, Record]]:
    """Return the pairs of a calibration: the processes that measured the same experiment at the same time."""
    ran = {(each.experiment_id, each.replica): each for each in read_records(folder / RESULTS) if each.status == "ok"}
    for (experiment, replica), first in ran.items():
        second = ran.get((experiment, replica + 1))
        if replica % 2 == 0 and second is not None:
            yield first, second


def _apart(first: Record, second: Record) -> bool:
    one, two = (peer.execution(each.metrics["total_time"]) for each in (first, second))
    return bool(one and two and abs(one.avg - two.avg) > one.std + two.std)


def _changed(first: Record, second: Record) -> bool:
    one, two = (peer.execution(each.metrics["total_time"]) for each in (first, second))
    return bool(one and two and abs(two.avg / one.avg - 1) >= HUD_CHANGE)
