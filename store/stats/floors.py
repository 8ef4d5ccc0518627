"""The noise floor: how far identical experiments lie apart on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DEFAULT_FLOOR = 0.03
"""Ratio minus one under which no difference is believed where no A/A record of the machine exists."""
DEFAULT_FREEDOM = 4.0
"""How much the default scatter counts against a cell's own processes."""
FLOOR_SHARE = 0.95
MIN_PAIRS = 5
"""Under five A/A pairs the scatter of one experiment is taken together with the default's."""


class Floor(NamedTuple):
    """What A/A records show: `floor` as ratio minus one, the variance of a log-ratio and its degrees of freedom."""

    floor: float
    variance: float
    freedom: float
    pairs: int
    """A/A pairs behind it; 0 is the default, and is named so."""


def default_floor() -> Floor:
    """Return the floor of a machine that nobody has calibrated."""
    return Floor(DEFAULT_FLOOR, _variance_of(DEFAULT_FLOOR), DEFAULT_FREEDOM, 0)


def floor_of(log_ratios: ArrayLike) -> Floor:
    """Return the floor of A/A log-ratios (their expectation is 0): 95 % of identical pairs differ by less.

    With few pairs the default's variance is mixed in by its degrees of freedom, so one lucky pair promises nothing.
    """
    values = np.asarray(log_ratios, float)
    values = values[np.isfinite(values)]
    start = default_floor()
    if not values.size:
        return start
    prior = start.freedom if values.size < MIN_PAIRS else 0.0
    freedom = prior + values.size
    variance = float((prior * start.variance + np.sum(values**2)) / freedom)
    return Floor(float(np.expm1(_two_sided(freedom) * np.sqrt(variance))), variance, freedom, int(values.size))


def _two_sided(freedom: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 (measuring environments need no scipy)

    return float(stdtrit(freedom, (1 + FLOOR_SHARE) / 2))


def _variance_of(floor: float) -> float:
    return float((np.log1p(floor) / _two_sided(DEFAULT_FREEDOM)) ** 2)
