"""The report of measured payoffs: what models gain without their fallback ops, and why some gains are not known."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from store.errors import UsageError
from store.filters import ALL, Filters
from store.metrics import metric
from store.query import fetch, named
from store.report.table import Column, Mark, Picture, Report, Table
from store.stats.verdicts import CONFIRMING_PROCESSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection

Row = dict[str, Any]

WAYS = {"decomposition": "torch's decomposition", "opt_in": "PyTorch/XLA's lowering on request"}
"""What replaced an op."""
LIMITS = (
    "The op was replaced by torch's decomposition or by an optional lowering of PyTorch/XLA. A dedicated lowering may "
    "be faster, so this is no upper bound."
)
_TIMES = "\N{MULTIPLICATION SIGN}"
UNCALLED = "not called in steady iterations"
"""How the view's reason begins where a model does not call what was replaced."""
_WORDS = ("suite", "model", "test", "variant", "accelerator", "environment", "dtype", "torch_xla")
_NUMBERS = (
    ("replaced_calls_per_iteration", 2),
    ("with_latency_s", 3),
    ("without_latency_s", 3),
    ("payoff", 2),
    ("payoff_low", 2),
    ("payoff_high", 2),
)


def payoffs_report(con: Connection, filters: Filters = ALL) -> Report:
    """Report every payoff that fits, the largest first; without a run in the filters, the newest of each series and op.

    Raises:
        UsageError: nothing fits.
    """
    rows = fetch(con, named("payoffs"), filters.parameters())
    if not rows:
        raise UsageError(
            "No payoff was measured that fits these filters. `xlabench run --without-fallback OP` measures one."
        )
    measured = [row for row in rows if row["payoff"] is not None]
    return Report(
        title="What models gain without their fallback ops",
        answer=tuple(_told(rows)),
        tables=(_table(rows),),
        notes=(metric("payoff").sentence, LIMITS),
        picture=Picture(axis=metric("payoff").label, marks=tuple(map(_mark, measured))),
    )


def sentences(con: Connection, run_id: str) -> list[str]:
    """Return what a run found: a sentence for each model and replaced op, one for all models that do not call an op."""
    return _told(fetch(con, named("payoffs"), Filters(run=(run_id,)).parameters()))


def _told(rows: Iterable[Row]) -> list[str]:
    told, uncalled = [], defaultdict(list)
    for row in rows:
        if (row["payoff_reason"] or "").startswith(UNCALLED):
            uncalled[row["op"]].append(f"{row['model']} {row['test']} {row['backend']}")
        else:
            told.append(sentence(row))
    return told + [f"lower {op}: {UNCALLED} of {', '.join(dict.fromkeys(models))}" for op, models in uncalled.items()]


def sentence(row: Row) -> str:
    """Return a row of view `payoffs` as `lower OP → MODEL … 1.80x [1.70, 1.90]`, or why there is no number."""
    where = f"lower {row['op']} → {row['suite']}/{row['model']} {row['test']} {row['backend']}"
    if row["payoff"] is None:
        return f"{where}: no payoff measured: {row['payoff_reason']}"
    ways = " and ".join(WAYS.get(way, way) for way in row["ways"])
    more = f"; it calls {', '.join(row['newly_called'])} instead" if row["newly_called"] else ""
    more += "; on two processes a side only" if 1 < row["replicas_ran_n"] < CONFIRMING_PROCESSES else ""
    return f"{where} {row['payoff']:.2f}{_TIMES}{_interval(row)}, by {ways}{verdict(row)}{more}"


def verdict(row: Row) -> str:
    """Return what is to be said where it is no proven gain: slower, or not told apart."""
    if row["payoff_low"] is None:
        return ": one process tells no interval"
    return {1: "", 0: ": not told apart from falling back", -1: ": slower than falling back"}[row["gain"]]


def _interval(row: Row) -> str:
    if row["payoff_low"] is None or row["payoff_high"] is None:
        return ""
    return f" [{row['payoff_low']:.2f}, {row['payoff_high']:.2f}]"


def _table(rows: list[Row]) -> Table:
    columns = [Column(title="op"), *(Column(title=name.replace("_", " ")) for name in _WORDS)]
    for name, digits in _NUMBERS:
        found = metric(name)
        columns.append(
            Column(
                title=found.label,
                unit=found.display_unit or found.unit,
                definition=found.definition,
                digits=digits,
                numeric=True,
            )
        )
    columns += [Column(title="replaced by"), Column(title="now calls"), Column(title="why no payoff")]
    return Table(title="Payoffs", columns=tuple(columns), rows=tuple(_cells(row) for row in rows))


def _cells(row: Row) -> tuple[Any, ...]:
    numbers = [None if row[name] is None else metric(name).shown(row[name]) for name, _ in _NUMBERS]
    lists = [", ".join(row[name]) or None for name in ("replaced_by", "newly_called")]
    return (row["op"], *(row[name] for name in _WORDS), *numbers, *lists, row["payoff_reason"])


def _mark(row: Row) -> Mark:
    return Mark(
        label=f"{row['op']} {row['model']} {row['test']}",
        variant=row["backend"],
        backend=row["backend"],
        value=row["payoff"],
        low=row["payoff_low"],
        high=row["payoff_high"],
    )
