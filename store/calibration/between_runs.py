"""How far runs of different days lie apart where nothing but the day differs: the history's own answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.query import fetch, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection

DEFAULT_DEVIATION = 0.015
"""Standard deviation of a log-ratio between two runs where the history shows none."""
DEFAULT_FREEDOM = 4.0
"""How much that counts against what the history shows."""


def between_runs(con: Connection, runs: Iterable[str]) -> dict[Any, float]:
    """Return by machine the variance of a log-ratio between two runs, from all runs but these.

    A log-ratio is a difference of two runs, so its variance is twice that of one. What processes of one run differ by
    is in it too, once more: the interval is rather too wide.
    """
    rows = fetch(con, named("between_runs"), {"runs": sorted(set(runs))})
    return {row["machine_id"]: _pooled(2 * float(row["squares"]), float(row["freedom"])) for row in rows}


def unknown_history() -> float:
    """Return the variance where a machine has no history."""
    return _pooled(0.0, 0.0)


def _pooled(squares: float, freedom: float) -> float:
    return (DEFAULT_FREEDOM * DEFAULT_DEVIATION**2 + squares) / (DEFAULT_FREEDOM + freedom)
