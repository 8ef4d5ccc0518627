"""What a geometric mean hides: its median, how many agree with it, and what one model does to it (pure)."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

from store.stats.geomean import MIN_INTERVAL_N

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ratio(NamedTuple):
    """A model's speedup; the ends of its 95 % interval are None where there is none."""

    model: str
    value: float
    low: float | None
    high: float | None

    @property
    def word(self) -> str:
        """Return `faster` or `slower` for an interval clear of 1, `same` for one that holds it, else `unknown`."""
        if self.low is None or self.high is None:
            return "unknown"
        return "faster" if self.low > 1 else "slower" if self.high < 1 else "same"


class Spread(NamedTuple):
    """The ratios behind a geometric mean."""

    models: tuple[str, ...]
    median: float
    faster: int
    slower: int
    same: int
    """Number of models whose interval contains 1."""
    unknown: int
    """Number of models without an interval."""
    outlier: str | None
    """The model farthest from the median; None under three models."""
    without: float | None
    """Geometric mean of the others."""


def spread(ratios: Sequence[Ratio]) -> Spread | None:
    """Return what lies behind the mean of these ratios, None of none."""
    if not ratios:
        return None
    logs = [math.log(ratio.value) for ratio in ratios]
    middle, words = statistics.median(logs), [ratio.word for ratio in ratios]
    outlier, without = None, None
    if len(ratios) >= MIN_INTERVAL_N:
        farthest = max(range(len(logs)), key=lambda at: abs(logs[at] - middle))
        outlier = ratios[farthest].model
        without = math.exp((sum(logs) - logs[farthest]) / (len(logs) - 1))
    return Spread(
        models=tuple(ratio.model for ratio in ratios),
        median=math.exp(middle),
        faster=words.count("faster"),
        slower=words.count("slower"),
        same=words.count("same"),
        unknown=words.count("unknown"),
        outlier=outlier,
        without=without,
    )
