"""A published table of speedups per model: JSON with its baseline and origin, or a CSV of `model,speedup`."""

from __future__ import annotations

import csv
import io
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from store.compressed import plain
from store.errors import UsageError
from store.importers import facts as said
from store.importers import text
from store.importers.base import Imported, Unreadable, guarded
from store.importers.shape import UNKNOWN, Origin, Series, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from store.importers.facts import Facts

_CSV_HEAD = ["model", "speedup"]
_SECONDS = "_s"
"""Ends the name of a column of times."""


class Table(msgspec.Struct, kw_only=True):
    """One published table: `speedup` has a list per model, parallel to `columns`."""

    source: str
    baseline: str
    columns: list[str]
    speedup: dict[str, list[float | None]]
    test: str = "eval"
    accelerator: str = UNKNOWN
    accelerator_model: str | None = None
    suite: str = UNKNOWN
    dtype: str | None = None
    geomean: list[float | None] | None = None
    """Published geometric means of the columns of speedups, in their order."""
    note: str | None = None


class PublishedTable:
    """One record per table, column of speedups, and model."""

    name = "table"
    suffixes: tuple[str, ...] = (".json", ".csv")

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        if head.lstrip()[:1] in (b"[", b"{"):
            return all(f'"{key}"'.encode() in head for key in ("source", "baseline", "columns", "speedup"))
        return head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")[:2] == _CSV_HEAD

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | Unreadable]:
        try:
            facts = said.of(path)
            tables = list(_tables(file, path, facts))
        except UsageError as error:
            yield Unreadable(1, 0, str(error))
            return
        seen: Counter[Series] = Counter()
        for found in tables:
            if isinstance(found, Unreadable):
                yield found
                continue
            number, table = found
            yield from guarded(number, 0, partial(_imported, self.name, number, table, path, facts, seen))


def _imported(
    source: str, number: int, table: Table, path: Path, facts: Facts, seen: Counter[Series]
) -> Iterator[Imported]:
    return (Imported(number, 0, made) for made in _records(source, table, path, facts, seen))


def _tables(file: BinaryIO, path: Path, facts: Facts) -> Iterator[tuple[int, Table] | Unreadable]:
    if plain(path).suffix == ".csv":
        yield 1, _of_csv(file.read(), path, facts)
        return
    for found in text.objects(file):
        if isinstance(found, Unreadable):
            yield found
            continue
        try:
            table = msgspec.convert(found.value, Table)
            _check(table)
        except (msgspec.ValidationError, ValueError) as error:
            yield Unreadable(found.line_number, found.byte_offset, f"table of {found.value.get('source')}: {error}")
        else:
            yield found.line_number, table


def _check(table: Table) -> None:
    if table.test not in said.TESTS:
        raise ValueError(f"test is {table.test!r}, not eval or train")
    wrong = [model for model, values in table.speedup.items() if len(values) != len(table.columns)]
    if wrong:
        raise ValueError(f"{wrong[0]} does not have one value for each of {', '.join(table.columns)}")


def _of_csv(data: bytes, path: Path, facts: Facts) -> Table:
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8")), strict=True))
        speedup: dict[str, list[float | None]] = {row["model"]: [float(row["speedup"])] for row in rows}
    except (UnicodeDecodeError, csv.Error, ValueError, TypeError) as error:
        raise UsageError(f"not a table of model,speedup: {error}") from None
    return Table(
        source=facts.origin or plain(path).name,
        baseline=facts.baseline or UNKNOWN,
        columns=["speedup"],
        speedup=speedup,
        test=facts.test or "eval",
    )


def _records(source: str, table: Table, path: Path, facts: Facts, seen: Counter[Series]) -> Iterator[dict[str, Any]]:
    origin = Origin(
        source=source,
        run_key=[facts.origin or table.source, table.baseline],
        label=facts.label or facts.origin or table.source,
        started=facts.started(path),
        file=plain(path).name,
    )
    means = iter(table.geomean or [])
    for index, column in enumerate(table.columns):
        if column.endswith(_SECONDS):
            continue
        words = {
            "origin": facts.origin or table.source,
            "baseline": facts.baseline or table.baseline,
            "column": column,
            "geomean": next(means, None),
            "note": table.note,
        }
        said_so = {name: word for name, word in words.items() if word is not None}
        for model, values in table.speedup.items():
            series = _series(table, facts, column, model)
            numbers = _numbers(table, values, index)
            if numbers:
                yield record(origin, series, numbers, ordinal=seen[series], reported=said_so)
                seen[series] += 1


def _series(table: Table, facts: Facts, column: str, model: str) -> Series:
    return Series(
        suite=facts.suite or table.suite,
        model=model,
        test=said.TESTS[facts.test or table.test],
        variant=facts.backend or (UNKNOWN if column == "speedup" else column),
        accelerator=facts.accelerator or table.accelerator,
        accelerator_model=facts.accelerator_model or table.accelerator_model,
        dtype=facts.dtype or table.dtype,
    )


def _numbers(table: Table, values: list[float | None], index: int) -> dict[str, float]:
    """Return the speedup, and beside a table's only one the times that it was made of."""
    speedup = text.number(values[index])
    found = {} if speedup is None else {"reported_speedup": speedup}
    times = {name: text.number(value) for name, value in zip(table.columns, values, strict=True) if name.endswith("_s")}
    if len(times) == len(table.columns) - 1:
        own = [value for name, value in times.items() if not name.startswith(table.baseline)]
        base = [value for name, value in times.items() if name.startswith(table.baseline)]
        known = {"reported_latency_s": own, "reported_baseline_latency_s": base}
        found |= {name: value[0] for name, value in known.items() if len(value) == 1 and value[0] is not None}
    return found
