"""How far one group of values lies above another, and how sure that is, without assuming a distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


class Shift(NamedTuple):
    """The interval of a shift: None where the groups are too small for one."""

    low: float | None
    high: float | None


def shift_interval(before: NDArray[np.float64], after: NDArray[np.float64]) -> Shift:
    """Return the 95 % interval of the shift from `before` to `after`.

    Order statistics of all pairwise differences, by the normal approximation of Mann and Whitney's statistic: Moses'
    interval, in Hollander, Wolfe and Chicken, Nonparametric Statistical Methods (2014), section 4.3.
    """
    count = len(before) * len(after)
    rank = math.floor(count / 2 - _Z * math.sqrt(count * (len(before) + len(after) + 1) / 12))
    if rank < 1:
        return Shift(None, None)
    differences = sorted((after[:, None] - before[None, :]).ravel().tolist())
    return Shift(differences[rank - 1], differences[count - rank])
