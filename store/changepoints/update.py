"""Bring the index's marks and change points up to date, after its results were published.

Few runs change a verdict about earlier ones, so mostly nothing has to be published again.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from store.changepoints.detect import LAST_POINTS, MIN_POINTS, changes
from store.database import snapshot
from store.database.owner import mark_changed, owner
from store.query import named
from store.state import marks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from store.database.owner import Connection

_MARK_FIELDS = marks.Mark.__struct_fields__


def update(store_dir: Path, state: Path) -> int:
    """Compute the change points of all series that were touched, and publish them where they differ.

    Args:
        store_dir: folder of the index; without an index nothing happens.
        state: the database of what people typed; it need not exist.

    Returns:
        How many series were looked at.

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


def _take_marks(con: Connection, found: list[marks.Mark]) -> None:
    """Make the marks of the index those of the state; series that a mark takes in or lets go are stale."""
    columns = ", ".join(_MARK_FIELDS)
    rows = [tuple(getattr(mark, name) for name in _MARK_FIELDS) for mark in found]
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
    old = con.execute("FROM change_points WHERE series_id IN (SELECT series_id FROM stale_series)").fetchall()
    if sorted(old) != fresh:
        con.execute("DELETE FROM change_points WHERE series_id IN (SELECT series_id FROM stale_series)")
        if fresh:
            con.executemany(f"INSERT INTO change_points VALUES ({', '.join('?' * len(fresh[0]))})", fresh)  # noqa: S608
        mark_changed(con)
    con.execute("DELETE FROM stale_series")
    return int(series_n)


def _rows(points: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `change_points`."""
    for (series_id, epoch), group in groupby(points, key=itemgetter(0, 1)):
        runs = [row[2:] for row in group]
        for found in changes([latency for _, _, latency in runs]):
            (run_before, started_before, _), (run_after, started_after, _) = runs[found.at - 1], runs[found.at]
            yield (series_id, epoch, run_before, run_after, started_before, started_after, *found[1:])
