"""A report as data, and how its cells and headers are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from store.metrics import metric

Cell = str | int | float | datetime | None
MISSING = "—"
COMMANDS = ("reproduce",)
"""Titles of columns of commands. In HTML a click opens a command, because it is longer than the other cells."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table; `digits` applies to text for people and never to CSV or JSON."""

    title: str
    unit: str = ""
    definition: str = ""
    digits: int = 2
    numeric: bool = False
    link: bool = False
    """Whether its cells are addresses of the dashboard, which a page may show as links."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under columns; None is a missing value."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    headed: bool = False
    """Whether text shows the first column as a line above the rows that share it, and the last one below each row."""


class RatioMark(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio above 0 with its interval, if it has one, as a mark of a picture."""

    label: str
    variant: str
    backend: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Number of models behind a mean."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a report's picture: marks in the order of their labels; `axis` names the ratio."""

    axis: str
    marks: tuple[RatioMark, ...]


class Step(msgspec.Struct, frozen=True):
    """A next step that the report recommends."""

    why: str
    """The reason for the step: a sentence without its full stop."""
    command: str
    """The command to type."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report: the answer in sentences, the tables behind it, and notes on how to read them."""

    title: str
    tables: tuple[Table, ...]
    people: tuple[Table, ...] | None = None
    """Tables that text, Markdown and HTML show instead of `tables`; None: `tables` themselves."""
    notes: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    """Sentences about wrong results, shown before everything else."""
    steps: tuple[Step, ...] = ()
    picture: Picture | None = None

    @property
    def read(self) -> tuple[Table, ...]:
        """Return the tables as people read them."""
        return self.tables if self.people is None else self.people


def shown(cell: Cell, column: Column) -> str:
    """Return a value with the digits of its column; a missing value is a dash, and only 0 is shown as 0."""
    if cell is None or cell == "":
        return MISSING
    if not isinstance(cell, float):
        return str(cell)
    text = f"{cell:.{column.digits}f}"
    return f"{cell:.2g}" if cell and not float(text) else text


def decimals(values: Iterable[float | None], least: int) -> int:
    """Return how many decimals leave the smallest value three significant digits: `least` or more, at most five."""
    smallest = min((abs(value) for value in values if value), default=1.0)
    return min(max(2 - math.floor(math.log10(smallest)), least), 5)


def heading(column: Column) -> str:
    """Return title and unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


_NAMES = ("model", "op", "operator", "variant", "backend")
"""Titles of columns that name a row, the one that says most first."""


def name_column(columns: Sequence[Column]) -> int:
    """Return the position of the column that names a row, which stays visible where a table is scrolled sideways."""
    titles = [column.title for column in columns]
    return next((titles.index(name) for name in _NAMES if name in titles), 0)


def text_columns(*titles: str) -> tuple[Column, ...]:
    """Return plain columns with these titles."""
    return tuple(Column(title=title) for title in titles)


def metric_column(name: str, digits: int = 2, prefix: str = "") -> Column:
    """Return the column of a metric, in its display unit; `prefix` names the side that it belongs to."""
    spec = metric(name)
    return Column(
        title=f"{prefix} {spec.label.lower()}" if prefix else spec.label,
        unit=spec.display_unit or spec.unit,
        definition=spec.definition,
        digits=digits,
        numeric=True,
    )


def metric_cell(name: str, value: float | None) -> float | None:
    """Return a value of a metric in its display unit."""
    return None if value is None else metric(name).shown(value)


def distinguishing_columns(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], always: Sequence[str] = ()
) -> list[str]:
    """Return the columns in which rows differ, and those of `always`; other columns would repeat one value."""
    return [name for name in names if name in always or len({row[name] for row in rows}) > 1]


def row_label(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the known values of these columns as one text."""
    return " ".join(str(row[name]) for name in names if row[name] is not None)
