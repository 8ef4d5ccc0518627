"""A report as data, with its cells and headers as people read them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from store.metrics import metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Cell = str | int | float | datetime | None
MISSING = "—"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column: `title` heads it, `digits` is for people and never for CSV or JSON."""

    title: str
    unit: str = ""
    definition: str = ""
    digits: int = 2
    numeric: bool = False
    link: bool = False
    """Its cells are addresses of ours, which a page may make links of."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under columns; None is a missing value."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    headed: bool = False
    """In text, the first column is a line above the rows that share it, and the last one a line below its row."""


class RatioMark(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio above 0 and its interval, if it has one, as a picture shows it."""

    label: str
    variant: str
    backend: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Number of models behind a mean."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What a picture of a report shows: marks in the order of their labels; `axis` says what the ratios are."""

    axis: str
    marks: tuple[RatioMark, ...]


class Step(msgspec.Struct, frozen=True):
    """What to look at next."""

    why: str
    """A sentence without its end."""
    command: str
    """What looks closer, as it is typed."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a report says: the answer in sentences, the tables that it rests on, and notes on how to read them."""

    title: str
    tables: tuple[Table, ...]
    people: tuple[Table, ...] | None = None
    """What people read instead of the tables, in text, Markdown and HTML; None: the tables themselves."""
    notes: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    """What stands before anything else: whose results are wrong."""
    steps: tuple[Step, ...] = ()
    picture: Picture | None = None

    @property
    def read(self) -> tuple[Table, ...]:
        """Return the tables as people read them."""
        return self.tables if self.people is None else self.people


def shown(cell: Cell, column: Column) -> str:
    """Return a value with the digits of its column; the dash for what is missing."""
    if cell is None or cell == "":
        return MISSING
    return f"{cell:.{column.digits}f}" if isinstance(cell, float) else str(cell)


def heading(column: Column) -> str:
    """Return title and unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


def metric_column(name: str, digits: int = 2, prefix: str = "") -> Column:
    """Return the column of a metric, in its display unit; a prefix says whose it is."""
    found = metric(name)
    return Column(
        title=f"{prefix} {found.label.lower()}" if prefix else found.label,
        unit=found.display_unit or found.unit,
        definition=found.definition,
        digits=digits,
        numeric=True,
    )


def metric_cell(name: str, value: float | None) -> float | None:
    """Return a value of a metric in its display unit."""
    return None if value is None else metric(name).shown(value)


def telling_columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str], always: Sequence[str]) -> list[str]:
    """Return the columns in which rows differ: equal ones would only fill the page."""
    return [name for name in names if name in always or len({row[name] for row in rows}) > 1]
