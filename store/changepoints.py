"""Change points of a series' latency over runs: detected, confirmed, and stored in table `change_points`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from store.database import snapshot
from store.database.owner import mark_changed, owner
from store.query import Connection, named
from store.state import marks

Floats = NDArray[np.float64]

LAST_POINTS = 120
"""Number of newest runs in the search, which is quadratic; older runs do not change its result."""
MIN_POINTS = 10
"""Least number of runs: with fewer no split can have a p-value below `MAX_P`."""
MIN_SEGMENT = 3
MAX_P = 0.01
MIN_CHANGE = 0.03
"""Least relative change: 3 % is within the usual difference between two days."""
_MAD_TO_SIGMA = 1.4826


class Change(NamedTuple):
    """A confirmed change before point `at`; times are medians of the two adjacent segments, which have n points."""

    at: int
    before_s: float
    after_s: float
    ratio: float
    low: float | None
    high: float | None
    before_n: int
    after_n: int
    p_value: float


def changes(latencies: Sequence[float]) -> list[Change]:
    """Return the confirmed changes of positive latencies in order of time.

    PELT with the L1 cost on logarithms; the penalty is 2 ln(n) times the noise, estimated from differences of runs.
    A candidate stays if its two sides differ by 3 % and in Mann and Whitney's test. The weakest one that fails is
    removed, its sides are merged, and the others are tested again.
    """
    if len(latencies) < MIN_POINTS:
        return []
    logs = np.log(np.asarray(latencies, dtype=np.float64))
    return _confirmed(logs, _candidates(logs))


def _candidates(logs: Floats) -> list[int]:
    import ruptures  # noqa: PLC0415 (it takes a second, and few ingests need it)

    search = ruptures.Pelt(custom_cost=_cost(logs), min_size=MIN_SEGMENT, jump=1)
    cuts: list[int] = search.fit(logs).predict(pen=2 * math.log(len(logs)) * _sigma(logs))
    return cuts[:-1]


def _sigma(logs: Floats) -> float:
    """Return the noise of one point from the median of differences, which steps hardly change; it is never 0."""
    differences = np.diff(logs)
    deviation = float(np.median(np.abs(differences - np.median(differences))))
    return max(_MAD_TO_SIGMA * deviation / math.sqrt(2), 1e-6)


def _cost(logs: Floats) -> object:
    """Return ruptures' L1 cost with a table of all segments, which is ten times faster than separate medians."""
    from ruptures.base import BaseCost  # noqa: PLC0415 (as above)

    table = _absolute_deviations(logs)

    class Cost(BaseCost):  # type: ignore[misc] # the library has no types
        model = "l1"
        min_size = 1

        def fit(self, signal: Floats) -> Cost:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            return float(table[start, end])

    return Cost()


def _absolute_deviations(values: Floats) -> Floats:
    """Return at [start, end] the sum of absolute deviations of that segment from its median."""
    count = len(values)
    table = np.zeros((count + 1, count + 1))
    for length in range(1, count + 1):
        windows = np.sort(sliding_window_view(values, length), axis=1)
        half = length // 2
        sums = windows[:, length - half :].sum(axis=1) - windows[:, :half].sum(axis=1)
        starts = np.arange(count - length + 1)
        table[starts, starts + length] = sums
    return table


def _confirmed(logs: Floats, cuts: list[int]) -> list[Change]:
    while True:
        bounds = [0, *cuts, len(logs)]
        candidates = [
            _change(logs, start, at, end) for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        doubtful = [
            change for change in candidates if change.p_value >= MAX_P or _size(change) < math.log1p(MIN_CHANGE)
        ]
        if not doubtful:
            return candidates
        weakest = min(doubtful, key=lambda change: (_size(change), -change.p_value))
        cuts = [cut for cut in cuts if cut != weakest.at]


def _size(change: Change) -> float:
    return abs(math.log(change.ratio))


def _change(logs: Floats, start: int, at: int, end: int) -> Change:
    from scipy.stats import mannwhitneyu  # noqa: PLC0415 (as above)

    before, after = logs[start:at], logs[at:end]
    middle, later = float(np.median(before)), float(np.median(after))
    low, high = shift_interval(before, after)
    return Change(
        at=at,
        before_s=math.exp(middle),
        after_s=math.exp(later),
        ratio=math.exp(later - middle),
        low=None if low is None else math.exp(low),
        high=None if high is None else math.exp(high),
        before_n=len(before),
        after_n=len(after),
        p_value=float(mannwhitneyu(before, after).pvalue),
    )


_MARK_FIELDS = marks.Mark.__struct_fields__


def update(store_dir: Path, state: Path) -> int:
    """Compute the change points of all stale series, and publish them if they differ; return how many were computed.

    Neither the index nor `state.sqlite` need exist; without an index nothing happens.

    Raises:
        OwnerBusy: another process writes the index.
    """
    if snapshot.current(store_dir) is None:
        return 0
    with owner(store_dir) as index:
        con = index.con
        con.execute("BEGIN")
        try:
            _take_marks(con, marks.listed(state))
            series_n = _recompute(con)
            con.execute("COMMIT")
        except BaseException:
            con.execute("ROLLBACK")
            raise
    return series_n


def _take_marks(con: Connection, state_marks: list[marks.Mark]) -> None:
    """Copy the marks of the state into the index; series that gain or lose a mark become stale."""
    columns = ", ".join(_MARK_FIELDS)
    rows = [tuple(getattr(mark, name) for name in _MARK_FIELDS) for mark in state_marks]
    if con.execute(f"SELECT {columns} FROM marks ORDER BY mark_id").fetchall() != rows:  # noqa: S608 (ours)
        con.execute("DELETE FROM marks")
        if rows:
            places = ", ".join("?" * len(_MARK_FIELDS))
            con.executemany(f"INSERT INTO marks ({columns}) VALUES ({places})", rows)  # noqa: S608 (ours)
        mark_changed(con)
    con.execute(f"CREATE OR REPLACE TEMP TABLE marked AS {named('marked_series')}")
    con.execute(
        "CREATE OR REPLACE TEMP TABLE moved AS (FROM marked EXCEPT FROM series_marks) UNION ALL "
        "(FROM series_marks EXCEPT FROM marked)"
    )
    if con.execute("SELECT 1 FROM moved LIMIT 1").fetchall():
        con.execute("INSERT INTO stale_series SELECT series_id FROM moved")
        con.execute("DELETE FROM series_marks")
        con.execute("INSERT INTO series_marks FROM marked")
        mark_changed(con)


def _recompute(con: Connection) -> int:
    [(series_n,)] = con.execute("SELECT count(DISTINCT series_id) FROM stale_series").fetchall()
    if not series_n:
        return 0
    points = con.execute(named("series_points"), {"last_n": LAST_POINTS, "min_n": MIN_POINTS}).fetchall()
    fresh = sorted(_rows(points))
    stored = con.execute("FROM change_points WHERE series_id IN (SELECT series_id FROM stale_series)").fetchall()
    if sorted(stored) != fresh:
        con.execute("DELETE FROM change_points WHERE series_id IN (SELECT series_id FROM stale_series)")
        if fresh:
            con.executemany(f"INSERT INTO change_points VALUES ({', '.join('?' * len(fresh[0]))})", fresh)  # noqa: S608
        mark_changed(con)
    con.execute("DELETE FROM stale_series")
    return int(series_n)


def _rows(points: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `change_points`."""
    for (series_id, epoch, *_), group in groupby(points, key=itemgetter(0, 1, 2, 3)):
        runs = [row[4:] for row in group]
        for change in changes([latency for _, _, latency in runs]):
            (run_before, started_before, _), (run_after, started_after, _) = runs[change.at - 1], runs[change.at]
            yield (series_id, epoch, run_before, run_after, started_before, started_after, *change[1:])


_Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


class Shift(NamedTuple):
    """The interval of a shift; None if the groups are too small for one."""

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


__all__ = ["update"]
