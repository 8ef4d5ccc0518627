"""The CSV of the TorchDynamo harness (`--output X.csv`) from records: its columns, formulas and failure rows.

The functions are pure. A cell without a value is empty, where the harness itself would write 0.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from store.record import Record, Verification
from store.verification import NOT_LOADED, TIMED_OUT, hud_status

Cell = str | int | float
Row = dict[str, Cell]
Pair = tuple[str | None, str | None]
"""The (xla, dynamo) of a backend."""

WARM_UP_ITERATIONS = 5
"""Iterations whose wall time, compiled minus eager, is the harness's `compilation_latency` of a performance run."""
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
    """Options of the command line for the rows."""

    backend: Pair
    baseline: Pair = (None, None)
    tag: str | None = None
    prior: Mapping[str, float] | None = None
    """Speedups by model of an earlier CSV (`--baseline`)."""
    warm_peak: bool = False
    """Whether peak memory is that of the steady part, instead of the part that compiles."""


def performance(records: Iterable[Record], options: Options) -> list[Row]:
    """Return one row per model: speedup over the baseline, latency, compilation, memory and dynamo's counters."""
    return [_performance(record, eager, options) for record, eager in _paired(records, options)]


def accuracy(records: Iterable[Record], options: Options) -> list[Row]:
    """Return one row per model: status, dynamo's counters, and the compile time that dynamo reports."""
    rows = (_accuracy(record, options) for record, _ in _paired(records, options))
    return [row for row in rows if row is not None]


def against_xla(records: Iterable[Record], options: Options) -> list[Row]:
    """Return the rows of `--xla`: medians in seconds, eager against lazy XLA."""
    return [_against_xla(record, eager, options) for record, eager in _paired(records, options)]


def text(rows: Sequence[Row], before: str = "") -> str:
    """Return the text of the file: rows appended to its content, the header widened, short rows filled with 0."""
    lines = list(csv.reader(io.StringIO(before)))
    header = lines[0] if lines else []
    for row in rows:
        # The harness uses the longer header, as a failure row has fewer columns.
        header = list(row) if len(row) > len(header) else header
    body = [*lines[1:], *([_cell_text(value) for value in row.values()] for row in rows)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in [header, *body] if header else []:
        writer.writerow([*line, *["0"] * (len(header) - len(line))])
    return out.getvalue()


def speedups(csv_text: str) -> dict[str, float]:
    """Return the speedups by model from such a file."""
    return {row["name"]: float(row["speedup"]) for row in csv.DictReader(io.StringIO(csv_text)) if row.get("speedup")}


def counters(record: Record) -> dict[str, int | None]:
    """Return dynamo's counters as the harness counts them; None for counters that the record lacks."""
    return counters_of(record.metrics)


def counters_of(metrics: Mapping[str, Any]) -> dict[str, int | None]:
    """Return dynamo's counters from the metrics of a record."""
    merged = _merged(metrics.get("dynamo_counters"))
    if not merged:
        graphs = _first_of(metrics, "graphs_number")
        return {**dict.fromkeys(COUNTERS), "unique_graphs": None if graphs is None else int(graphs)}
    frames, breaks = merged.get("frames", {}), merged.get("graph_break", {})
    return {
        "calls_captured": int(merged.get("stats", {}).get("calls_captured", 0)),
        "unique_graphs": int(merged.get("stats", {}).get("unique_graphs", 0)),
        "fallbacks_to_eager": int(frames.get("total", 0) - frames.get("ok", 0)),
        "graph_breaks": int(sum(breaks.values())),
        "unique_graph_breaks": sum(count > 0 for count in breaks.values()),
        "autograd_captures": int(merged.get("compiled_autograd", {}).get("captures", 0)),
        "autograd_compiles": int(merged.get("compiled_autograd", {}).get("compiles", 0)),
        "cudagraph_skips": int(merged.get("inductor", {}).get("cudagraph_skips", 0)),
    }


def _performance(record: Record, eager: Record | None, options: Options) -> Row:
    own_time, eager_time = _steady(record), _steady(eager)
    row = _head(record, options)
    if own_time is None or eager_time is None:
        return row | {"batch_size": 0, "speedup": 0.0, "abs_latency": 0.0}
    row |= {"speedup": eager_time / own_time, "abs_latency": own_time * 1000}
    if options.prior is not None:
        before = options.prior.get(record.model.model_name, 0.0)
        row |= {"baseline": before, "speedup_vs_baseline": eager_time / own_time / before if before else 0.0}
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
    verification = record.verification or Verification(
        code="VERIFIER_DIDNT_RUN", decided_by=record.status, error=record.error
    )
    status, row = hud_status(verification), _head(record, options)
    if status is None:
        return None
    if status in (NOT_LOADED, TIMED_OUT):
        return row | {"batch_size": 0, "accuracy": status}
    compiling = _first(record, "dynamo_compile_time_s")
    row |= {"batch_size": verification.batch_size or row["batch_size"], "accuracy": status}
    return row | _counter_cells(record) | {"compilation_latency": "" if compiling is None else compiling}


def _against_xla(record: Record, eager: Record | None, options: Options) -> Row:
    own_time, eager_time = _steady(record), _steady(eager)
    row = _head(record, options)
    if own_time is None or eager_time is None:
        return row | {"batch_size": 0, "speedup": 0.0}
    return row | {"speedup": eager_time / own_time, "time_baseline": eager_time, "time_xla": own_time}


def _paired(records: Iterable[Record], options: Options) -> list[tuple[Record, Record | None]]:
    """Pair the newest record of the backend with the baseline's; as in the harness, a skipped model has no row."""
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
    """Return the median time of the steady blocks, in seconds per block; None without a result."""
    if record is None or record.status != "ok":
        return None
    kinds = record.measurement.blocks.kind
    times = record.metrics.get("total_time", [])
    steady = [time for time, kind in zip(times, kinds, strict=False) if kind == "steady" and time]
    return median(steady) if steady else None


def _warm_up(record: Record | None) -> float:
    """Return the seconds of the harness's warm-up iterations, in whole blocks."""
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


def _merged(counter_sets: Any) -> dict[str, dict[str, float]]:
    """Merge counters of several blocks: the largest value of each, whether or not they were cleared between blocks."""
    snapshots = counter_sets if isinstance(counter_sets, list) else [counter_sets]
    merged: dict[str, dict[str, float]] = {}
    for snapshot in snapshots:
        for group, values in (snapshot or {}).items():
            into = merged.setdefault(group, {})
            for key, value in values.items():
                into[key] = max(value, into.get(key, value))
    return merged


def _cell_text(value: Cell) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)
