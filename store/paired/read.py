"""The tables as people read them: a row for each backend, its interval and its marks; and what the marks mean."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from store.advice import mark_of, summary
from store.metrics import metric
from store.paired.answer import AGAIN
from store.query import fetch, named
from store.report.table import Column, Table
from store.stats.verdicts import CONFIRMING_PROCESSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from store.paired.judged import Experiment, Judged
    from store.query import Connection
    from store.report.table import Cell

Row = dict[str, Any]

SERIES = ("run_id", "test", "suite", "accelerator", "environment", "dtype", "requested_batch_size", "variant")
"""What a mean over models is of."""
NO_ROW = "no row"
MIN_MODELS = 2
"""Models of a geometric mean."""
_SMALL = 0.1
_MEANINGS = {
    "confirmed": (f"{CONFIRMING_PROCESSES} or more interleaved processes of each side agree", None),
    "suspected": (
        f"fewer than {CONFIRMING_PROCESSES} processes of each side show it, or the sides were not interleaved",
        f"--processes {CONFIRMING_PROCESSES}, or `xlabench compare A B --confirm`",
    ),
    "same": ("the difference lies within the machine's noise floor", None),
    "ambiguous": (
        "cannot be told apart from the baseline: processes differ as much, or the machine's noise is as large",
        "raise --processes, or pass --until-verdict",
    ),
    "no verdict": ("one side lacks what a verdict needs", None),
    "unverified": ("the answer was not compared with eager's", "measure with --verify"),
    "wrong answer": ("the answer differs from eager's, so there is no speedup", "inspect the tensor that failed"),
    "eager failed": ("eager itself failed in the check, so the answer is unverified", "read the record's log"),
    "check failed": ("the check of the answer failed, so the answer is unverified", "read the record's log"),
    "eager varies": ("two runs of eager differ, so the answer cannot be checked", None),
    "disturbed": ("other programs used the CPUs in too many of its turns, so there is no number", AGAIN),
    "no baseline": ("the baseline has no number", None),
}
"""Mark → what it means, and what to do about it; those of findings are in `store.advice`."""


def speedups_table(found: Iterable[Experiment]) -> Table:
    """Return one row per result: latency, n, speedup with its 95 % interval, marks; below it why there is none."""
    columns = (
        Column(title="experiment"),
        Column(title="backend"),
        Column(title="ms", numeric=True, definition=metric("latency_s").definition),
        Column(title="n", numeric=True, definition=metric("steady_n").definition),
        Column(title="speedup", numeric=True, definition=metric("speedup").definition),
        Column(title="95 %", numeric=True, definition="Interval of the speedup that holds the true one in 95 of 100."),
        Column(title="marks"),
        Column(title="why there is no speedup"),
    )
    body = [(each.heading, *_cells(result)) for each in found for result in each.results]
    return Table(title="Speedups", columns=columns, rows=tuple(body), headed=True)


def _cells(result: Judged) -> tuple[Cell, ...]:
    row = result.row
    timed = row["latency_s"] is not None
    return (
        result.variant,
        metric("latency_s").shown(row["latency_s"]) if timed else None,
        int(row["steady_n"]) if timed else None,
        _ratio(row["speedup"]),
        None if result.is_baseline else interval(row["speedup_low"], row["speedup_high"]),
        result.marks,
        _why(result),
    )


def _why(result: Judged) -> str | None:
    """Return the reason of a missing speedup that no mark says; the baseline's stands in its own row."""
    if result.standing in ("no baseline", "wrong answer", "verified only") or result.row["speedup"] is not None:
        return None
    reason = result.row["reason"] if not result.row["valid"] else result.row["speedup_reason"]
    return str(reason) if reason else None


def _ratio(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.3g}" if value < _SMALL else f"{value:.2f}"


def interval(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval."""
    return None if low is None or high is None else f"{_ratio(low)}\N{EN DASH}{_ratio(high)}"


def means_table(means: Sequence[Row], rows: Iterable[Row], baseline: str) -> Table:
    """Return one row per test and variant of which several models were planned; one model's rows say it all."""
    keys = [key for key in SERIES if key in ("test", "variant") or len({row[key] for row in means}) > 1]
    models = {tuple(row[key] for key in SERIES): row["model"] for row in rows if row["speedup"] is not None}
    columns = [Column(title=key) for key in keys]
    columns += [
        Column(title="n", numeric=True, definition=metric("n").definition),
        Column(title="geomean", numeric=True, definition=metric("geomean").definition),
        Column(title="95 %", numeric=True),
        Column(title="ran"),
        Column(title="verified"),
    ]
    body = [
        (*(row[key] for key in keys), *_mean(row, baseline, models.get(tuple(row[key] for key in SERIES))))
        for row in means
        if row["planned_n"] > 1
    ]
    return Table(title="Geometric means over models", columns=tuple(columns), rows=tuple(body))


def _mean(row: Row, baseline: str, model: str | None) -> tuple[Cell, ...]:
    """Return n, the mean and its interval, and the rates; instead of a mean over one model there is its name."""
    mean = _ratio(row["geomean"])
    if row["variant"] == baseline and row["baseline_run_id"] in (None, row["run_id"]):
        mean = "baseline"
    elif row["n"] < MIN_MODELS:
        mean = f"{model} alone" if row["n"] else None
    several = row["n"] >= MIN_MODELS and mean != "baseline"
    return (
        int(row["n"]),
        mean,
        interval(row["geomean_low"], row["geomean_high"]) if several else None,
        f"{row['ran_n']}/{row['planned_n']}",
        f"{row['verified_n']}/{row['answered_n']}" if row["verify_asked"] else None,
    )


def marks_table(con: Connection, runs: Iterable[str], found: Iterable[Experiment]) -> Table:
    """Return the marks in use, with how many results have each, what it means and what to do about it."""
    used = Counter(mark for each in found for result in each.results for mark in {result.standing, *result.doubts})
    body: list[tuple[Cell, ...]] = [(mark, used[mark], *_MEANINGS[mark]) for mark in _MEANINGS if used[mark]]
    for row in fetch(con, named("findings"), {"runs": sorted(set(runs))}):
        mark = mark_of(row["code"])
        number = int(row["results_n"]) if mark is None else used[mark]
        if number and mark not in _MEANINGS:
            body.append((mark or NO_ROW, number, summary(row["code"]), row["next_step"]))
    titles = ("mark", "results", "meaning", "what to do")
    columns = tuple(Column(title=title, numeric=title == "results") for title in titles)
    return Table(title="Marks", columns=columns, rows=tuple(body))
