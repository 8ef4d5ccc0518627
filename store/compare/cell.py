"""A cell of a comparison: one experiment on both sides, and its verdict."""

from __future__ import annotations

from typing import Any

import msgspec

from store.calibration.false_alarms import FalseAlarms
from store.compare.sides import Side
from store.report.table import Table
from store.stats.differences import Difference
from store.stats.floors import Floor
from store.stats.verdicts import Verdict


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
    """Experiment of the old side; the fields above are the new side's."""
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
    """False alarms of the runs of both sides."""
    speedup_changes: Table | None = None
    break_even: Table | None = None
    findings: Table | None = None

    @property
    def renamed(self) -> str | None:
        """Say so where two runs are compared whose only environments have different names."""
        if self.old.run_id == self.new.run_id or not self.old.environment or not self.new.environment:
            return None
        return (
            f"Each run has one environment, {self.old.environment!r} and {self.new.environment!r}: they are compared "
            "with each other, although they are called differently."
        )

    def of(self, *words: str) -> tuple[Cell, ...]:
        """Return the cells with one of these verdicts."""
        return tuple(cell for cell in self.cells if cell.verdict.word in words)
