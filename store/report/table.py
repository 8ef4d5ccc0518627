"""A report as data."""

from __future__ import annotations

from datetime import datetime

import msgspec

Cell = str | int | float | datetime | None


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


class Mark(msgspec.Struct, frozen=True, kw_only=True):
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
    marks: tuple[Mark, ...]


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
