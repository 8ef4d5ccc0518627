"""The results of two sides beside each other: of two runs, or of two environments or variants of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.compare.cells import ALIKE
from store.weekly.lanes import between
from store.weekly.results import Key, Row, Sides, sides_of

if TYPE_CHECKING:
    from store.compare import Side
    from store.query import Connection


def common_lanes(con: Connection, old: Side, new: Side) -> tuple[Sides, ...]:
    """Return what both sides have, one part per accelerator of the new side.

    Raises:
        UsageError: the new side measured nothing.
    """
    parts = tuple(sides_of(con, lane) for lane in between(con, old.run_id, new.run_id))
    if old.run_id != new.run_id or (old.environment or old.variant or new.environment or new.variant) is None:
        return parts
    return tuple(_of_axis(part, old, new) for part in parts)


def _of_axis(part: Sides, old: Side, new: Side) -> Sides:
    rows = part.now.values()
    now, last = ({_key(row, new): row for row in rows if _is_of(row, side)} for side in (new, old))
    return Sides(part.lane, now, last)


def _is_of(row: Row, side: Side) -> bool:
    return side.environment in (None, row["environment"]) and side.variant in (None, row["variant"])


def _key(row: Row, side: Side) -> Key:
    return tuple(row[name] for name in ALIKE) if side.variant else (row["experiment_id"],)
