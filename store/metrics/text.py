"""Numbers and intervals as text, the same in reports, notices and pages."""

from __future__ import annotations

TO = "\N{EN DASH}"
"""Text between the ends of an interval."""
_SMALL, _ONE_DECIMAL_FROM, _NO_DECIMAL_FROM = 0.1, 10, 100
_MOST_DIGITS = 6
"""Largest number of digits beyond the usual ones; ends that still agree have the usual ones."""


def significant(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, but no large number as a power of ten: 1,235, not 1.23e+03."""
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"


def interval_text(low: float, high: float, to: str = TO) -> str:
    """Return the ends of an interval with enough digits to differ, at least three significant ones.

    The size of the lower end decides the number of digits of both.
    """
    candidates = ([_digits(end, low, extra) for end in (low, high)] for extra in range(_MOST_DIGITS))
    usual = next(candidates)
    return to.join(usual if usual[0] != usual[1] else next((ends for ends in candidates if ends[0] != ends[1]), usual))


def _digits(value: float, low: float, extra: int) -> str:
    if low < _SMALL:
        return f"{value:.{3 + extra}g}"
    decimals = 2 if low < _ONE_DECIMAL_FROM else 1 if low < _NO_DECIMAL_FROM else 0
    return f"{value:.{decimals + extra}f}"
