"""Cells and headers as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.report.table import Cell, Column

MISSING = "—"


def shown(cell: Cell, column: Column) -> str:
    """Return a value with the digits of its column; the dash for what is missing."""
    if cell is None or cell == "":
        return MISSING
    return f"{cell:.{column.digits}f}" if isinstance(cell, float) else str(cell)


def heading(column: Column) -> str:
    """Return title and unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title
