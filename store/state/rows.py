"""Rows of `state.sqlite` as structs: a table has a column of the same name for each field of its struct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    import sqlite3  # `xlabench --help` imports the jobs, and starts without a database

T = TypeVar("T", bound=msgspec.Struct)
_READERS: Mapping[Any, Callable[[Any], Any]] = {bool: bool, datetime: lambda text: datetime.fromisoformat(str(text))}
"""Type of a field that SQLite stores as another one → the function that reads it."""


def columns(kind: type[msgspec.Struct]) -> str:
    """Return the columns of the table of a struct, as `read` takes them."""
    return ", ".join(kind.__struct_fields__)


def insert(con: sqlite3.Connection, table: str, row: T, number: str = "") -> T:
    """Write a struct as a new row; return it, with the number that the database gave to the field `number`, if any."""
    values = {name: _stored(value) for name, value in msgspec.structs.asdict(row).items() if name != number}
    places = ", ".join(f":{name}" for name in values)
    cursor = con.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", values)  # noqa: S608 (ours)
    return msgspec.structs.replace(row, **{number: int(cursor.lastrowid or 0)}) if number else row


def select(
    con: sqlite3.Connection, kind: type[T], table: str, rest: str = "", values: Sequence[object] = ()
) -> list[T]:
    """Return rows of a table as structs; `rest` is the SQL after its name."""
    return read(kind, con.execute(f"SELECT {columns(kind)} FROM {table} {rest}", values))  # noqa: S608 (our names)


def read(kind: type[T], rows: Iterable[tuple[Any, ...]]) -> list[T]:
    """Return rows with these columns as structs."""
    readers = _readers(kind)
    return [
        kind(**{name: reader(value) if reader else value for (name, reader), value in zip(readers, row, strict=True)})
        for row in rows
    ]


@cache
def _readers(kind: type[msgspec.Struct]) -> list[tuple[str, Callable[[Any], Any] | None]]:
    return [(field.name, _READERS.get(field.type)) for field in msgspec.structs.fields(kind)]


def _stored(value: object) -> object:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value
