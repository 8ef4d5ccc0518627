"""The CSV of the TorchDynamo harness (`--output X.csv`), made from records: its columns, formulas and failure rows.

Pure: records in, text out. A cell that no record can fill is empty; their own writer would write 0 there.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from store.record import Verification
from store.verification import NOT_LOADED, TIMED_OUT, hud_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from store.record import Record

Cell = str | int | float
Row = dict[str, Cell]
Pair = tuple[str | None, str | None]
"""The (xla, dynamo) of a backend."""

WARM_UP_ITERATIONS = 5
"""Whose wall time, compiled minus eager, is their `compilation_latency` of a performance run."""
COUNTERS = (
    "calls_captured",
    "unique_graphs",
    "fallbacks_to_eager",
    "graph_breaks",
    "unique_graph_breaks",
    "autograd_captures",
    "autograd_compiles",
    "cudagraph_skips",
)
_GIGA = 1e9


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line says about the rows."""

    backend: Pair
    baseline: Pair = (None, None)
    tag: str | None = None
    prior: Mapping[str, float] | None = None
    """Speedups by model of an earlier CSV (`--baseline`)."""
    warm_peak: bool = False
    """Peak memory of the steady part, instead of the part that compiles."""


def performance(records: Iterable[Record], options: Options) -> list[Row]:
    """Return a row per model: speedup over the baseline, latency, compilation, memory, dynamo's counters."""
    return [_performance(record, eager, options) for record, eager in _paired(records, options)]


def accuracy(records: Iterable[Record], options: Options) -> list[Row]:
    """Return a row per model: status, dynamo's counters, compile time as dynamo reports it."""
    rows = (_accuracy(record, options) for record, _ in _paired(records, options))
    return [row for row in rows if row is not None]


def against_xla(records: Iterable[Record], options: Options) -> list[Row]:
    """Return the rows of `--xla`: medians in seconds, eager against lazy XLA."""
    return [_against_xla(record, eager, options) for record, eager in _paired(records, options)]


def text(rows: Sequence[Row], before: str = "") -> str:
    """Return the file's text: rows appended to what stands there, the header widened, short rows filled with 0."""
    lines = list(csv.reader(io.StringIO(before)))
    header = lines[0] if lines else []
    for row in rows:
        # Their writer takes the longer header; a failure row has a short one.
        header = list(row) if len(row) > len(header) else header
    body = [*lines[1:], *([_written(value) for value in row.values()] for row in rows)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in [header, *body] if header else []:
        writer.writerow([*line, *["0"] * (len(header) - len(line))])
    return out.getvalue()


def speedups(csv_text: str) -> dict[str, float]:
    """Read the speedups by model out of such a file."""
    return {row["name"]: float(row["speedup"]) for row in csv.DictReader(io.StringIO(csv_text)) if row.get("speedup")}


def counters(record: Record) -> dict[str, int | None]:
    """Return dynamo's counters as they count them; None where the record does not hold them."""
    return counted(record.metrics)


def counted(metrics: Mapping[str, Any]) -> dict[str, int | None]:
    """Return dynamo's counters out of a record's metrics."""
    found = _merged(metrics.get("dynamo_counters"))
    if not found:
        graphs = _first_of(metrics, "graphs_number")
        return {**dict.fromkeys(COUNTERS), "unique_graphs": None if graphs is None else int(graphs)}
    frames, breaks = found.get("frames", {}), found.get("graph_break", {})
    return {
        "calls_captured": int(found.get("stats", {}).get("calls_captured", 0)),
        "unique_graphs": int(found.get("stats", {}).get("unique_graphs", 0)),
        "fallbacks_to_eager": int(frames.get("total", 0) - frames.get("ok", 0)),
        "graph_breaks": int(sum(breaks.values())),
        "unique_graph_breaks": sum(count > 0 for count in breaks.values()),
        "autograd_captures": int(found.get("compiled_autograd", {}).get("captures", 0)),
        "autograd_compiles": int(found.get("compiled_autograd", {}).get("compiles", 0)),
        "cudagraph_skips": int(found.get("inductor", {}).get("cudagraph_skips", 0)),
    }


def _performance(record: Record, eager: Record | None, options: Options) -> Row:
    ours, theirs = _steady(record), _steady(eager)
    row = _head(record, options)
    if ours is None or theirs is None:
        return row | {"batch_size": 0, "speedup": 0.0, "abs_latency": 0.0}
    row |= {"speedup": theirs / ours, "abs_latency": ours * 1000}
    if options.prior is not None:
        before = options.prior.get(record.model.model_name, 0.0)
        row |= {"baseline": before, "speedup_vs_baseline": theirs / ours / before if before else 0.0}
    peak = "peak_memory_bytes" if options.warm_peak else "setup_peak_memory_bytes"
    eager_peak, dynamo_peak = _first(eager, peak), _first(record, peak)
    row |= {
        "compilation_latency": _warm_up(record) - _warm_up(eager),
        "compression_ratio": eager_peak / dynamo_peak if eager_peak and dynamo_peak else 0.0,
        "eager_peak_mem": (eager_peak or 0.0) / _GIGA,
        "dynamo_peak_mem": (dynamo_peak or 0.0) / _GIGA,
    }
    return row | _counter_cells(record)


def _accuracy(record: Record, options: Options) -> Row | None:
    found = record.verification or Verification(code="VERIFIER_DIDNT_RUN", decided_by=record.status, error=record.error)
    status, row = hud_status(found), _head(record, options)
    if status is None:
        return None
    if status in (NOT_LOADED, TIMED_OUT):
        return row | {"batch_size": 0, "accuracy": status}
    compiling = _first(record, "dynamo_compile_time_s")
    row |= {"batch_size": found.batch_size or row["batch_size"], "accuracy": status}
    return row | _counter_cells(record) | {"compilation_latency": "" if compiling is None else compiling}


def _against_xla(record: Record, eager: Record | None, options: Options) -> Row:
    ours, theirs = _steady(record), _steady(eager)
    row = _head(record, options)
    if ours is None or theirs is None:
        return row | {"batch_size": 0, "speedup": 0.0}
    return row | {"speedup": theirs / ours, "time_baseline": theirs, "time_xla": ours}


def _paired(records: Iterable[Record], options: Options) -> list[tuple[Record, Record | None]]:
    """Pair each record of the backend with its baseline's, newest attempts; what was skipped has no row, as there."""
    newest: dict[tuple[Any, ...], Record] = {}
    for record in records:
        pair = (record.experiment.xla, record.experiment.dynamo)
        key = (record.model.model_name, record.experiment.test, record.experiment.accelerator, pair)
        if (
            record.twin_of is None
            and record.replica == 0
            and (key not in newest or newest[key].attempt <= record.attempt)
        ):
            newest[key] = record
    return [
        (record, newest.get((*key[:3], options.baseline)))
        for key, record in newest.items()
        if key[3] == options.backend and record.status != "skipped"
    ]


def _head(record: Record, options: Options) -> Row:
    row: Row = {
        "dev": record.experiment.accelerator,
        "name": record.model.model_name,
        "batch_size": record.experiment.batch_size or 0,
    }
    return row if options.tag is None else row | {"tag": options.tag}


def _steady(record: Record | None) -> float | None:
    """Return the median of the steady blocks, seconds for all iterations of a block; None where it gave no number."""
    if record is None or record.status != "ok":
        return None
    kinds = record.measurement.blocks.kind
    times = record.metrics.get("total_time", [])
    steady = [time for time, kind in zip(times, kinds, strict=False) if kind == "steady" and time]
    return median(steady) if steady else None


def _warm_up(record: Record | None) -> float:
    """Return the seconds of the first iterations, as many as their warm-up has, in whole blocks."""
    if record is None:
        return 0.0
    blocks = math.ceil(WARM_UP_ITERATIONS / record.iterations_per_run)
    return float(sum(time or 0.0 for time in record.metrics["total_time"][:blocks]))


def _counter_cells(record: Record) -> Row:
    return {name: "" if value is None else value for name, value in counters(record).items()}


def _first(record: Record | None, metric: str) -> float | None:
    return _first_of(record.metrics, metric) if record else None


def _first_of(metrics: Mapping[str, Any], metric: str) -> float | None:
    values = metrics.get(metric)
    return float(values[0]) if isinstance(values, list) and values and values[0] is not None else None


def _merged(found: Any) -> dict[str, dict[str, float]]:
    """Return one set of counters of a list with one per block, cleared between blocks or not: the largest of each."""
    each = found if isinstance(found, list) else [found]
    merged: dict[str, dict[str, float]] = {}
    for snapshot in each:
        for group, values in (snapshot or {}).items():
            into = merged.setdefault(group, {})
            for key, value in values.items():
                into[key] = max(value, into.get(key, value))
    return merged


def _written(value: Cell) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)
