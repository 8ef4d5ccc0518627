"""What the comparison of two runs says of each series, confirming runs included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from store.compare import Cell, Side
from store.errors import UsageError
from store.review.sides import common_lanes
from store.weekly.speed import speed_of

if TYPE_CHECKING:
    from store.query import Connection


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A series in the newer run."""

    word: str
    """slower, faster, same, ambiguous or not comparable."""
    certainty: str
    """For slower and faster: confirmed, suspected or not confirmed; otherwise empty."""
    cell: Cell
    """The better evidence."""
    row: dict[str, Any]
    """Its result in the newer run."""
    place: str
    """The accelerator as people know it."""


def judged(con: Connection, old: str, new: str) -> dict[str, Judged]:
    """Return the verdicts of two runs by series; nothing where the newer one measured nothing."""
    try:
        parts = common_lanes(con, Side(text=old, run_id=old), Side(text=new, run_id=new))
    except UsageError:
        return {}
    rows = {
        (row["experiment_id"], row["environment"]): (row, part.lane.name) for part in parts for row in part.now.values()
    }
    speed = speed_of(con, [part.lane for part in parts])
    found: list[tuple[Cell, Cell, str, str]] = [
        (cell, cell, cell.verdict.word, "") for each in speed.comparisons for cell in each.cells
    ]
    found += [(each.before, each.shown, each.word, each.certainty) for each in speed.changes]
    by_series = {}
    for cell, shown, word, certainty in found:
        row, place = rows.get((cell.experiment_id, cell.environment or "default"), (None, ""))
        if row is not None:
            by_series[str(row["series_id"])] = Judged(word=word, certainty=certainty, cell=shown, row=row, place=place)
    return by_series
