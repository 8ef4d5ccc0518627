"""What people said of this review's findings: who looks after them, what is known, where it is filed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.report.table import Column, Table
from store.state.reviews import Standing, standings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from store.report.table import Cell
    from store.state.reviews import Entry

_COLUMNS = (
    *(Column(title=title) for title in ("finding", "state", "filed as", "assignee", "note")),
    Column(title="by", definition="Who wrote last; unverified where no login confirmed the name."),
    Column(title="when"),
)


def review_table(entries: Iterable[Entry], runs: Collection[str]) -> Table:
    """Return one row per finding of these runs that somebody spoke of."""
    found = standings(entry for entry in entries if entry.subject.run_id in runs)
    return Table(title="Review notes", columns=_COLUMNS, rows=tuple(map(_row, found.values())))


def _row(found: Standing) -> tuple[Cell, ...]:
    last = found.entries[-1]
    by = last.who if last.verified else f"{last.who} (unverified)"
    said = (found.state, found.reference, found.assignee, found.note)
    return (last.what, *said, by, f"{last.created_at:%Y-%m-%d %H:%M} UTC")
