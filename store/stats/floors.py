"""The noise floor: by how much identical experiments differ on a machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

DEFAULT_FLOOR = 0.03
"""Noise floor (ratio minus one) of a machine without A/A records."""
DEFAULT_FREEDOM = 4.0
"""Degrees of freedom of the default scatter, as its weight against a cell's own processes."""
FLOOR_SHARE = 0.95
MIN_PAIRS = 5
"""With fewer A/A pairs the scatter of an experiment is combined with the default."""


class Floor(NamedTuple):
    """A noise floor from A/A records: `floor` as ratio minus one, the variance of a log-ratio, degrees of freedom."""

    floor: float
    variance: float
    freedom: float
    pairs: int
    """Number of A/A pairs behind it; 0 for the default."""


def default_floor() -> Floor:
    """Return the floor of a machine without a calibration."""
    return Floor(DEFAULT_FLOOR, _variance_of(DEFAULT_FLOOR), DEFAULT_FREEDOM, 0)


def floor_of(log_ratios: ArrayLike) -> Floor:
    """Return the floor of A/A log-ratios (their expectation is 0): 95 % of identical pairs differ by less.

    With few pairs the default's variance is mixed in by its degrees of freedom, so one lucky pair promises nothing;
    also where all pairs are equal, as with a coarse clock: no machine is without noise.
    """
    values = np.asarray(log_ratios, float)
    values = values[np.isfinite(values)]
    start = default_floor()
    if not values.size:
        return start
    squares = float(np.sum(values**2))
    prior = start.freedom if values.size < MIN_PAIRS or squares == 0 else 0.0
    freedom = prior + values.size
    variance = (prior * start.variance + squares) / freedom
    return Floor(float(np.expm1(_two_sided(freedom) * np.sqrt(variance))), variance, freedom, int(values.size))


def _two_sided(freedom: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 (measuring environments need no scipy)

    return float(stdtrit(freedom, (1 + FLOOR_SHARE) / 2))


def _variance_of(floor: float) -> float:
    return float((np.log1p(floor) / _two_sided(DEFAULT_FREEDOM)) ** 2)
