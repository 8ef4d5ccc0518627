"""How well a process knows its median, and whether that is the end of its blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from store.record import Until
from store.stats.median import half_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.settings import Settings

LOOK_AGAIN = 1.05
"""Times as many blocks as at the last look: an interval shrinks with their root, so before that it is much the same;
and tens of thousands of short blocks are not sorted anew for every two more."""


@dataclass
class Turns:
    """The turns of a process since its warm-up."""

    settings: Settings
    spent_s: float = 0.0
    """Running time: blocks, what they needed before, re-warming."""
    blocks: int = 0
    _look_at: int = 0

    def took(self, blocks: int, seconds: float) -> None:
        self.blocks += blocks
        self.spent_s += seconds

    def spoilt(self) -> None:
        """Forget them: they were warm-up."""
        self.spent_s, self.blocks, self._look_at = 0.0, 0, 0

    def enough(self, steady: Callable[[], Sequence[float]]) -> bool:
        """Say whether no further turn is needed, or none can be paid; `steady` gives the times of the blocks."""
        if self._target is None or self.spent_s >= self.settings.stable_budget_s:
            return True
        if self.blocks < max(self.settings.repeat, self._look_at):
            return False
        self._look_at = math.ceil(LOOK_AGAIN * self.blocks)
        until = self.reached(steady())
        return until is not None and until.stable

    def reached(self, steady: Sequence[float]) -> Until | None:
        """Return what they have brought; None where the number of blocks is fixed."""
        target = self._target
        if target is None:
            return None
        width = half_width(steady)
        return Until(
            target=target,
            budget_s=self.settings.stable_budget_s,
            half_width=width,
            spent_s=self.spent_s,
            stable=width is not None and width <= target,
        )

    @property
    def _target(self) -> float | None:
        return None if self.settings.preset == "peer" else self.settings.until_stable
