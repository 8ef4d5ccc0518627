"""The report of fallback ops: in which order to lower them, as the page Fallback ops ranks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from store.choose import newest_run
from store.errors import UsageError
from store.filters import ALL
from store.metrics import metric
from store.query import fetch, named
from store.report.table import Column, Report, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.filters import Filters
    from store.query import Connection

Row = dict[str, Any]

_BEST_FIRST = "payoff"
"""Order of the query: proven gains, then by cost, host reads last."""
_NUMBERS = (
    *("payoff", "payoff_low", "payoff_high", "time_share", "time_n", "calls_per_iteration", "steady_models_n"),
    *("blocked_n", "calls_compile", "results_n"),
)
_LISTS = ("models", "blocked_models")
_SHOWN = ("payoff", "time_share", "calls_per_iteration", "blocked_n")
"""Metrics of the columns, whose definitions stand below the table."""


def fallbacks_report(con: Connection, filters: Filters = ALL) -> Report:
    """Rank the ops that XLA did not lower in the results that fit; without a run in the filters, of the newest one.

    Raises:
        UsageError: no result fits.
    """
    chosen = filters if filters.run else msgspec.structs.replace(filters, run=(newest_run(con, filters),))
    results = fetch(con, named("results"), chosen.parameters())
    if not results:
        raise UsageError("No result fits these filters. Widen them, or ingest the run that has them.")
    rows = fetch(con, named("fallback_ranking"), chosen.parameters() | {"order": _BEST_FIRST})
    return Report(
        title=f"Fallback ops of run {', '.join(chosen.run)}",
        answer=(_answer(rows, sum(bool(row["ran"]) for row in results)),),
        tables=(_table(rows),) if rows else (),
        notes=tuple(metric(name).sentence for name in _SHOWN) if rows else (),
    )


def _answer(rows: Iterable[Row], ran: int) -> str:
    lower = [row for row in rows if row["klass"] != "host_read" and row["steady_models_n"]]
    if not lower:
        return f"None of the {ran} results that ran calls an op in steady iterations that could be lowered."
    first = lower[0]
    models = first["steady_models_n"]
    return f"{first['op']} is the op to lower first, of {len(lower)}: {_cost(first)}; models that call it: {models}."


def _cost(row: Row) -> str:
    if row["gain"] == 1:
        return f"without it {row['payoff_model']} was {row['payoff']:.2f} times as fast, measured"
    if row["time_share"] is not None:
        return f"up to {row['time_share']:.2%} of an iteration"
    calls = "an unknown number of" if row["calls_per_iteration"] is None else f"up to {row['calls_per_iteration']:.4g}"
    return f"{calls} calls per iteration, not profiled"


def _table(rows: Iterable[Row]) -> Table:
    columns = [Column(title="op"), Column(title="class"), Column(title="ranked by")]
    for name in _NUMBERS:
        known = metric(name)
        columns.append(
            Column(
                title=known.label,
                unit=known.display_unit or known.unit,
                definition=known.definition,
                digits=0 if name.endswith("_n") else 2,
                numeric=True,
            )
        )
    columns += [Column(title=name.replace("_", " ")) for name in _LISTS]
    return Table(title="Fallback ops", columns=tuple(columns), rows=tuple(map(_cells, rows)))


def _cells(row: Row) -> tuple[Any, ...]:
    numbers = [None if row[name] is None else metric(name).shown(row[name]) for name in _NUMBERS]
    names = [", ".join(row[name]) or None for name in _LISTS]
    return (row["op"], row["klass"], "payoff" if row["gain"] == 1 else row["ranked_by"], *numbers, *names)
