"""Ratios and their intervals as text: reports, notices and pages write them alike."""

from __future__ import annotations

TO = "\N{EN DASH}"
"""Stands between the ends of an interval."""
_SMALL, _ONE_DECIMAL_FROM, _NO_DECIMAL_FROM = 0.1, 10, 100
_MOST_DIGITS = 6
"""Digits beyond the usual ones; ends that agree even in these are written as usual."""


def interval_text(low: float, high: float, to: str = TO) -> str:
    """Return the ends of an interval with as many digits as tell them apart, at least three significant ones.

    Args:
        low: lower end, whose size decides how many digits both ends have.
        high: upper end.
        to: what stands between them.
    """
    written = ([_digits(end, low, more) for end in (low, high)] for more in range(_MOST_DIGITS))
    usual = next(written)
    return to.join(usual if usual[0] != usual[1] else next((ends for ends in written if ends[0] != ends[1]), usual))


def _digits(value: float, low: float, more: int) -> str:
    if low < _SMALL:
        return f"{value:.{3 + more}g}"
    decimals = 2 if low < _ONE_DECIMAL_FROM else 1 if low < _NO_DECIMAL_FROM else 0
    return f"{value:.{decimals + more}f}"
