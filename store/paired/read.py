"""The tables as people read them, what their marks mean, and what to do next with a run."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from store.advice import mark_of, summary
from store.metrics import metric
from store.metrics.text import interval_text
from store.paired.answer import RETRY, TIMES, bound
from store.paired.judged import ComparedExperiment, Judged
from store.query import Connection, fetch, named
from store.report.table import Cell, Column, Step, Table, decimals, distinguishing_columns, text_columns
from store.stats.floors import DEFAULT_FLOOR
from store.stats.verdicts import CONFIRMING_PROCESSES

MOST = 5
"""Number of steps that a report lists; the pages list all."""
_FROM_PYTHON = "measure:"


def next_steps(
    con: Connection, runs: Iterable[str], among: Collection[tuple[str, str, str]] | None = None
) -> tuple[Step, ...]:
    """Return what to look at in these runs, the first of many, of the suites, models and tests `among` them, or all."""
    rows = [row for run in runs for row in fetch(con, named("next_steps"), {"run": run})]
    return steps(row for row in rows if among is None or (row["suite"], row["model"], row["test"]) in among)[:MOST]


def steps(rows: Iterable[Mapping[Any, Any]]) -> tuple[Step, ...]:
    """Return a step for each thing that rows of query `next_steps` name, each once whichever backends show it."""
    things: dict[tuple[Any, ...], list[Mapping[Any, Any]]] = {}
    for row in rows:
        if row["kind"] == "never" and row["low"] <= 1 + DEFAULT_FLOOR:
            continue  # too small a difference for a verdict, so it carries no "never" either
        what = None if row["kind"] == "never" else row["what"]
        things.setdefault((row["kind"], row["suite"], row["model"], row["test"], what), []).append(row)
    return tuple(map(_step, things.values()))


def _step(rows: Sequence[Mapping[Any, Any]]) -> Step:
    row, backends = rows[0], list(dict.fromkeys(str(entry["backend"]) for entry in rows))
    name = f"{row['model'].partition('@')[0]} {row['test']}"
    if row["kind"] == "fallback":
        what = f"{name} runs {row['what']} outside of XLA, {_how_often(rows)} per iteration"
        command = _command(row, (), f"--without-fallback={row['what']}")
        return Step(f"{what}; this command measures what lowering it gains", command)
    under = f"under {', '.join(backends)}"
    if row["kind"] == "graph_break":
        headline = row["what"].strip().partition("\n")[0]
        what = f"Dynamo breaks the graph of {name} {under}, {_how_often(rows)} ({headline})"
        return Step(f"{what}; this command shows where it breaks first", _command(row, backends, "--fullgraph"))
    slower = ", ".join(
        f"{entry['backend']} ({entry['amount']:.2f}{TIMES} slower than eager, "
        f"95 % CI {interval_text(entry['low'], entry['high'], ' to ')})"
        for entry in rows
    )
    what = f"Compiling {name} never pays here under {slower}; this command profiles what the time is spent on"
    return Step(what, _command(row, backends, "--dump-pytorch-profiles"))


def _how_often(rows: Sequence[Mapping[Any, Any]]) -> str:
    """Return how often it happens, from the backend with fewest times to the one with most."""
    least, most = (end(entry["amount"] for entry in rows) for end in (min, max))
    if least < most:
        return f"{least:g} to {most:g} times"
    return "once" if most == 1 else f"{most:g} times"


def _command(row: Mapping[Any, Any], backends: Sequence[str], flag: str) -> str:
    """Return the command that looks closer; what was measured from Python is measured from there."""
    model = row["model"]
    if model.startswith(_FROM_PYTHON):
        chosen = f"backends={list(backends)}, " if backends else ""
        return f'xlabench.measure(module, inputs, {chosen}test="{row["test"]}", flags=["{flag}"])'
    typed = row["inputs"] if isinstance(row["inputs"], str) else "[]"
    words = (
        [model, *(f"--input={word}" for word in json.loads(typed) or ())]
        if row["suite"] == "own"
        else ["--only", f"{row['suite']}/{model}"]
    )
    words += [f"--test={row['test']}", *(f"--backend={backend}" for backend in backends), flag]
    return shlex.join(["xlabench", "run", *words])


Row = dict[str, Any]

SERIES = (
    *("run_id", "test", "suite", "accelerator", "accelerator_model", "machine_id", "environment", "dtype"),
    *("requested_batch_size", "optimizer", "loss", "matmul_precision", "workload", "variant"),
)
"""Columns that identify a mean over models."""
NO_ROW = "(no mark)"
"""Text in place of a mark for findings that no row shows."""
_SAME_REASON = "for the reason given above"
MIN_MODELS = 2
"""Models of a geometric mean."""
_SMALL = 0.1
_MEANINGS = {
    "confirmed": (f"{CONFIRMING_PROCESSES} or more interleaved processes of each side agree", None),
    "suspected": (
        f"fewer than {CONFIRMING_PROCESSES} processes of each side show it, or the sides were not interleaved",
        f"--processes {CONFIRMING_PROCESSES}, or `xlabench compare A B --confirm`",
    ),
    "same": ("the difference is within the machine's noise floor", None),
    "ambiguous": (
        "no significant difference to the baseline: processes differ as much, or the machine's noise is as large",
        "raise --processes, or pass --until-verdict",
    ),
    "no verdict": ("one side lacks what a verdict needs", None),
    "unverified": ("the answer was not compared with eager's", "measure with --verify"),
    "verified later": ("a later run compared the answer with eager's, not its own", "measure with --verify"),
    "wrong answer": ("the answer differs from eager's, so there is no speedup", "inspect the tensor that failed"),
    "eager failed": ("eager itself failed in the check, so the answer is unverified", "read the record's log"),
    "check failed": ("the check of the answer failed, so the answer is unverified", "read the record's log"),
    "eager varies": ("two runs of eager differ, so the answer cannot be checked", None),
    "disturbed": ("other programs used the CPUs in too many of its turns, so there is no number", RETRY),
    "no baseline": ("the baseline has no number", None),
}
"""Mark → what it means, and what to do about it; those of findings are in `store.advice`."""


def speedups_table(experiments: Iterable[ComparedExperiment]) -> Table:
    """Return one row per result: latency, n, speedup with its 95 % interval, marks; below it why there is none."""
    listed = list(experiments)
    columns = (
        *text_columns("experiment", "backend"),
        Column(title="ms", numeric=True, definition=metric("latency_s").definition, digits=_latency_digits(listed)),
        Column(title="n", numeric=True, definition=metric("steady_n").definition),
        Column(title="speedup", numeric=True, definition=metric("speedup").definition),
        Column(title="95 %", numeric=True, definition="95 % confidence interval of the speedup."),
        *text_columns("marks", "why there is no speedup"),
    )
    body: list[tuple[Cell, ...]] = []
    for experiment in listed:
        shown_reasons: set[str] = set()
        for result in experiment.results:
            why = _why(result)
            body.append((experiment.heading, *_cells(result), _SAME_REASON if why in shown_reasons else why))
            shown_reasons |= {why} if why else set()
    return Table(title="Speedups", columns=columns, rows=tuple(body), headed=True)


def _latency_digits(experiments: Iterable[ComparedExperiment]) -> int:
    """Return decimals of milliseconds that leave the shortest latency three significant digits."""
    latencies = [result.row["latency_s"] for experiment in experiments for result in experiment.results]
    return decimals([metric("latency_s").shown(latency) for latency in latencies if latency], 2)


def _cells(result: Judged) -> tuple[Cell, ...]:
    row = result.row
    timed = row["latency_s"] is not None
    return (
        result.variant,
        metric("latency_s").shown(row["latency_s"]) if timed else None,
        int(row["steady_n"]) if timed else None,
        _ratio(row["speedup"]),
        None if result.is_baseline else interval(*result.interval),
        result.marks,
    )


def _why(result: Judged) -> str | None:
    """Return the reason of a missing speedup that no mark says; the baseline's own row has the baseline's."""
    if result.standing in ("wrong answer", "verified only") or result.row["speedup"] is not None:
        return None
    reason = result.row["reason"] if not result.row["valid"] else result.row["speedup_reason"]
    reasons = [] if result.standing == "no baseline" or not reason else [str(reason)]
    if bounded := bound(result):
        reasons.insert(0, f"{bounded} than the baseline on a quiet machine")
    return "; ".join(reasons) or None


def _ratio(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.3g}" if value < _SMALL else f"{value:.2f}"


def interval(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval."""
    return None if low is None or high is None else interval_text(low, high)


def means_table(means: Sequence[Row], rows: Iterable[Row], baseline: str) -> Table:
    """Return one row per test and variant of which several models were planned; one model's rows say it all."""
    keys = distinguishing_columns(means, SERIES, always=("test", "variant"))
    models = {tuple(row[key] for key in SERIES): row["model"] for row in rows if row["speedup"] is not None}
    columns = list(text_columns(*keys))
    columns += [
        Column(title="n", numeric=True, definition=metric("n").definition),
        Column(title="geomean", numeric=True, definition=metric("geomean").definition),
        Column(title="95 %", numeric=True),
        *text_columns("ran", "verified"),
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


def marks_table(con: Connection, runs: Iterable[str], experiments: Iterable[ComparedExperiment]) -> Table:
    """Return the marks in use, with how many results have each, what it means and what to do about it."""
    results = [result for experiment in experiments for result in experiment.results]
    used = Counter(mark for result in results for mark in {result.standing, *result.doubts})
    # What another tool measured cannot be measured again here.
    imported = all(result.row["source"] != "xlabench" for result in results)
    body: list[tuple[Cell, ...]] = [
        (mark, used[mark], meaning, None if imported else to_do)
        for mark, (meaning, to_do) in _MEANINGS.items()
        if used[mark]
    ]
    for row in fetch(con, named("findings"), {"runs": sorted(set(runs))}):
        mark = mark_of(row["code"])
        number = int(row["results_n"]) if mark is None else used[mark]
        if number and mark not in _MEANINGS:
            body.append((mark or NO_ROW, number, summary(row["code"]), row["next_step"]))
    titles = ("mark", "results", "meaning", "what to do")
    columns = tuple(Column(title=title, numeric=title == "results") for title in titles)
    return Table(title="Marks", columns=columns, rows=tuple(body))
