"""What lowering an op would pay the models of the newest runs, where somebody has measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.metrics import metric
from store.query import fetch, named
from store.report.payoffs import WAYS, sentence
from store.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection
    from store.report.table import Cell
    from store.weekly.lanes import Lane

Row = dict[str, Any]
_MOST = 3
"""Payoffs that the answer names; the table has all."""
_NUMBERS = ("payoff", "payoff_low", "payoff_high")


def payoffs_of(con: Connection, lanes: Iterable[Lane]) -> list[Row]:
    """Return one row per result of the newest runs and op that was measured there, proven gains first."""
    found: dict[tuple[Any, ...], Row] = {}
    for lane in lanes:
        parameters = {"runs": [lane.now.run_id], "accelerator": lane.accelerator}
        for row in fetch(con, named("weekly_payoffs"), parameters):
            found[tuple(row[name] for name in ("run_id", "suite", "model", "test", "variant", "environment", "op"))] = (
                row
            )
    return sorted(found.values(), key=lambda row: row["gain"] != 1)


def payoff_sentences(rows: Iterable[Row]) -> list[str]:
    """Return the largest proven gains as sentences; nothing where none is proven."""
    proven = [row for row in rows if row["gain"] == 1]
    more = len(proven) - _MOST
    rest = [f"{more} more proven payoffs are in the table."] if more > 0 else []
    return [f"Measured: {sentence(row)}." for row in proven[:_MOST]] + rest


def payoffs_table(rows: Iterable[Row]) -> Table:
    """Return one row per result and op, with the reason where a measurement gave no number."""
    words = [Column(title=title) for title in ("op", "accelerator", "suite", "model", "test", "variant")]
    numbers = [
        Column(title=found.label, definition=found.definition, digits=2, numeric=True)
        for found in map(metric, _NUMBERS)
    ]
    columns = (
        *words,
        *numbers,
        Column(title="replaced by"),
        Column(title="why no payoff"),
        Column(title="measured by"),
    )
    return Table(title="Measured payoffs of fallback ops", columns=columns, rows=tuple(map(_cells, rows)))


def _cells(row: Row) -> tuple[Cell, ...]:
    words = (row[name] for name in ("op", "accelerator", "suite", "model", "test", "variant"))
    numbers = (None if row[name] is None else metric(name).shown(row[name]) for name in _NUMBERS)
    by = ", ".join(WAYS.get(way, way) for way in row["ways"]) or None
    run = f"{row['payoff_run_label']} of {row['payoff_started']:%Y-%m-%d}"
    return (*words, *numbers, by, row["payoff_reason"], run)
