"""Reports of fallback ops: the measured gain of models without them, and the order in which to lower them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from store.choose import newest_run
from store.errors import NOTHING_FITS, UsageError, counted
from store.identity import XLA
from store.metrics import metric
from store.metrics.text import interval_text
from store.query import ALL, Connection, Filters, fetch, named
from store.report.table import Column, Picture, RatioMark, Report, Table, metric_cell, metric_column, text_columns
from store.stats.verdicts import CONFIRMING_PROCESSES

Row = dict[str, Any]

WAYS = {"decomposition": "torch's decomposition", "opt_in": "PyTorch/XLA's opt-in lowering"}
"""Way of replacing an op → its name in sentences."""
LIMITS = (
    "The op was replaced by torch's decomposition or by an opt-in lowering of PyTorch/XLA. A dedicated lowering may "
    "be faster, so this is no upper bound."
)
_TIMES = "\N{MULTIPLICATION SIGN}"
UNCALLED = "not called in steady iterations"
"""Beginning of the view's reason where a model does not call the replaced op."""
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
        raise UsageError("No measured payoff fits these filters. `xlabench run --without-fallback OP` measures one.")
    measured = [row for row in rows if row["payoff"] is not None]
    return Report(
        title="What models gain without their fallback ops",
        answer=tuple(_lines(rows)),
        tables=(_table(rows),),
        notes=(metric("payoff").sentence, LIMITS),
        picture=Picture(axis=metric("payoff").label, marks=tuple(map(_mark, measured))),
    )


def sentences(con: Connection, run_id: str) -> list[str]:
    """Return the payoffs of a run: a sentence per model and replaced op, and one per op without calls."""
    return _lines(fetch(con, named("payoffs"), Filters(run=(run_id,)).parameters()))


def _lines(rows: Iterable[Row]) -> list[str]:
    lines, uncalled = [], defaultdict(list)
    for row in rows:
        if (row["payoff_reason"] or "").startswith(UNCALLED):
            uncalled[row["op"]].append(f"{row['suite']}/{row['model']} {row['test']} {row['backend']}")
        else:
            lines.append(sentence(row))
    return lines + [f"lower {op}: {UNCALLED} of {', '.join(dict.fromkeys(models))}" for op, models in uncalled.items()]


def sentence(row: Row) -> str:
    """Return a row of view `payoffs` as `lower OP → MODEL … 1.80x [1.70, 1.90]`, or why there is no number."""
    head = f"lower {row['op']} → {row['suite']}/{row['model']} {row['test']} {row['backend']}"
    if row["payoff"] is None:
        return f"{head}: no payoff measured: {row['payoff_reason']}"
    ways = " and ".join(WAYS.get(way, way) for way in row["ways"])
    remarks = f"; it calls {', '.join(row['newly_called'])} instead" if row["newly_called"] else ""
    remarks += "; only two processes per side" if 1 < row["replicas_ran_n"] < CONFIRMING_PROCESSES else ""
    return f"{head} {row['payoff']:.2f}{_TIMES}{_interval(row)}, by {ways}{verdict(row)}{remarks}"


def verdict(row: Row) -> str:
    """Return the words about a payoff that is no proven gain: slower, or no significant difference."""
    if row["payoff_low"] is None:
        return ": one process gives no interval"
    return {1: "", 0: ": no significant difference to falling back", -1: ": slower than falling back"}[row["gain"]]


def _interval(row: Row) -> str:
    if row["payoff_low"] is None or row["payoff_high"] is None:
        return ""
    return f" [{interval_text(row['payoff_low'], row['payoff_high'], ', ')}]"


def _table(rows: list[Row]) -> Table:
    columns = [Column(title="op"), *(Column(title=name.replace("_", " ")) for name in _WORDS)]
    columns += [metric_column(name, digits) for name, digits in _NUMBERS]
    columns += text_columns("replaced by", "now calls", "why no payoff")
    return Table(title="Payoffs", columns=tuple(columns), rows=tuple(_cells(row) for row in rows))


def _cells(row: Row) -> tuple[Any, ...]:
    numbers = [metric_cell(name, row[name]) for name, _ in _NUMBERS]
    lists = [", ".join(row[name]) or None for name in ("replaced_by", "newly_called")]
    return (row["op"], *(row[name] for name in _WORDS), *numbers, *lists, row["payoff_reason"])


def _mark(row: Row) -> RatioMark:
    return RatioMark(
        label=f"{row['op']} {row['model']} {row['test']}",
        variant=row["backend"],
        backend=row["backend"],
        value=row["payoff"],
        low=row["payoff_low"],
        high=row["payoff_high"],
    )


FallbackRow = dict[str, Any]

_BEST_FIRST = "payoff"
"""The order of the query: proven gains first, then by cost, host reads last."""
_FALLBACK_NUMBERS = (
    *("payoff", "payoff_low", "payoff_high", "time_share", "time_n", "calls_per_iteration", "steady_models_n"),
    *("blocked_n", "calls_compile", "results_n"),
)
_LISTS = ("models", "blocked_models")
_SHOWN = ("payoff", "time_share", "calls_per_iteration", "blocked_n")
"""Metrics of the columns, whose definitions stand below the table."""


def fallbacks_report(con: Connection, filters: Filters = ALL) -> Report:
    """Rank the ops that XLA did not lower in the results that fit; without a run in the filters, of the newest one.

    Raises:
        UsageError: no result fits, or none of those that fit tells of fallback ops.
    """
    narrowed = filters if filters.run else msgspec.structs.replace(filters, run=(newest_run(con, filters),))
    results = fetch(con, named("results"), narrowed.parameters())
    if not results:
        raise UsageError(NOTHING_FITS)
    rows = fetch(con, named("fallback_ranking"), narrowed.parameters() | {"order": _BEST_FIRST})
    ran = [row for row in results if row["ran"] and row["backend"].startswith(XLA)]
    answer = _answer(rows, ran)
    if not rows and all(row["fallback_ops_n"] is None for row in ran):
        raise UsageError(answer)
    return Report(
        title=f"Fallback ops of run {', '.join(narrowed.run)}",
        answer=(answer,),
        tables=(_fallback_table(rows),),
        notes=tuple(metric(name).sentence for name in _SHOWN) if rows else (),
    )


def _answer(rows: Iterable[FallbackRow], ran: Sequence[Row]) -> str:
    lower = [row for row in rows if row["klass"] != "host_read" and row["steady_models_n"]]
    if not lower:
        return _nothing_to_lower(ran)
    first = lower[0]
    models = first["steady_models_n"]
    rest = f" of {len(lower)} ops" if len(lower) > 1 else ""
    return f"{first['op']} is the op to lower first{rest}: {_cost(first)}, in {counted(models, 'model')}."


def _nothing_to_lower(ran: Sequence[Row]) -> str:
    """Say that there is nothing to lower, or that nothing is known: records of other tools count no fallback ops."""
    known = sum(row["fallback_ops_n"] is not None for row in ran)
    if not known:
        why = "was measured by xlabench" if ran else "ran"
        return f"No result of an XLA backend {why}, so no fallback ops are known."
    of, what = ("The one XLA result", "no op") if known == 1 else (f"None of the {known} XLA results", "an op")
    return f"{of} that ran calls {what} that could be lowered in its steady iterations."


def _cost(row: FallbackRow) -> str:
    if row["gain"] == 1:
        return f"without it {row['payoff_model']} was {row['payoff']:.2f}{_TIMES} faster, measured"
    if row["time_share"] is not None:
        return f"up to {row['time_share']:.2%} of an iteration"
    number = row["calls_per_iteration"]
    if number is None:
        return "an unknown number of calls per iteration, not profiled"
    calls = "1 call" if number == 1 else f"up to {number:.4g} calls"
    return f"{calls} per iteration, not profiled"


def _fallback_table(rows: Iterable[FallbackRow]) -> Table:
    columns = list(text_columns("op", "class", "ranked by"))
    columns += [metric_column(name, 0 if name.endswith("_n") else 2) for name in _FALLBACK_NUMBERS]
    columns += [Column(title=name.replace("_", " ")) for name in _LISTS]
    return Table(title="Fallback ops", columns=tuple(columns), rows=tuple(map(_fallback_cells, rows)))


def _fallback_cells(row: FallbackRow) -> tuple[Any, ...]:
    numbers = [metric_cell(name, row[name]) for name in _FALLBACK_NUMBERS]
    names = [", ".join(row[name]) or None for name in _LISTS]
    return (row["op"], row["klass"], "payoff" if row["gain"] == 1 else row["ranked_by"], *numbers, *names)
