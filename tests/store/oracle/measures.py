"""The numbers of one record that the index stores as columns."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import msgspec

from store.ingest.decode import Numbers, ReadRecord, numbers
from store.metrics import SCALARS
from store.stats.median import median, median_interval
from tests.store.oracle import peer, warmup


class Block(msgspec.Struct, frozen=True):
    """One timed block; seconds."""

    kind: str
    total_s: float | None
    per_iter_s: float | None
    trace_s: float | None
    compile_s: float | None
    execute_s: float | None
    loops: int = 1


def blocks(record: ReadRecord, *, foreign: bool) -> list[Block]:
    """Return the timed blocks in order; a foreign record's kinds follow the peer's rule.

    A record of ours whose `blocks.kind` does not fit `total_time` gives no steady block: which is which is unknown.
    """
    metrics = record.metrics or {}
    totals = numbers(metrics.get("total_time"))
    per_iter = _parallel(numbers(metrics.get("per_iter_time")), len(totals))
    traces = _parallel(numbers(metrics.get("trace_per_iter_time")), len(totals))
    compiling = _parallel(numbers(metrics.get("xla_CompileTime_time_s")), len(totals))
    execution = metrics.get("xla_ExecuteTime_time_s")
    execution = metrics.get("xla_ExecutionTime_time_s") if execution is None else execution
    executing = _parallel(numbers(execution), len(totals))
    kinds = _kinds(record, len(totals), foreign=foreign)
    iterations = record.iterations_per_run
    loops = [
        max(1, 1 if count is None else count) for count in _parallel(record.measurement.blocks.inner_loops, len(totals))
    ]
    found = []
    for kind, total, each, *others in zip(kinds, totals, per_iter, traces, compiling, executing, loops, strict=True):
        own = total / iterations if total is not None and iterations else each
        found.append(Block(kind, total, own, *others))
    return found


def _kinds(record: ReadRecord, count: int, *, foreign: bool) -> list[str]:
    if foreign:
        return (["first"] + ["warmup"] * (peer.WARMUP_BLOCKS - 1))[:count] + ["steady"] * (count - peer.WARMUP_BLOCKS)
    kinds = record.measurement.blocks.kind
    return kinds if len(kinds) == count else ["unknown"] * count


def _parallel(values: Numbers, count: int) -> Numbers:
    return values if len(values) == count else [None] * count


def steady_per_iter(found: Sequence[Block]) -> list[float]:
    """Return the steady seconds per iteration."""
    return [block.per_iter_s for block in found if block.kind == "steady" and block.per_iter_s is not None]


def latency(steady: Sequence[float]) -> dict[str, float | None]:
    """Return the columns of the steady state, seconds per iteration."""
    low, high = median_interval(steady) or (None, None)
    return {
        "latency_s": median(steady),
        "latency_low_s": low,
        "latency_high_s": high,
        "latency_spread": spread(steady),
    }


def compile_times(found: Sequence[Block]) -> dict[str, float | None]:
    """Return what is known from the blocks alone; None where there is no first block or no steady one."""
    totals = [block.total_s for block in found]
    steady = [block.total_s for block in found if block.kind == "steady" and block.total_s is not None]
    middle = median(steady)
    before = [block.total_s for block in found if block.kind in ("first", "warmup")]
    loops = [block.loops for block in found if block.kind in ("first", "warmup")]
    whole = [total for total in before if total is not None]
    first = found[0].total_s if found and found[0].kind == "first" else None
    return {
        "first_iteration_s": None if first is None or middle is None else warmup.first_iteration(first, middle),
        "time_to_steady_s": (
            warmup.time_to_steady(whole, middle, loops)
            if middle is not None and first is not None and len(whole) == len(before)
            else None
        ),
        **peer_rule([total for total in totals if total is not None] if None not in totals else []),
    }


def peer_rule(totals: Sequence[float]) -> dict[str, float | None]:
    """Return the columns of the peer's rule, over whole blocks; none of them where a block has no time."""
    compilation, execution = peer.compilation(totals), peer.execution(totals)
    return {
        "compile_peer_s": compilation.avg if compilation else None,
        "peer_exec_s": execution.avg if execution else None,
        "peer_exec_std_s": execution.std if execution else None,
    }


def compiler(record: ReadRecord) -> dict[str, Any]:
    """Return what the compiler itself reported: dynamo's frames, or XLA's own where dynamo took no part."""
    metrics = record.metrics or {}
    if record.experiment.dynamo:
        name, source = "dynamo_compile_time_s", "dynamo"
    else:
        name, source = "xla_CompileTime_time_s", "XLA CompileTime"
    values = [value for value in numbers(metrics.get(name)) if value is not None]
    if not values or (not record.experiment.dynamo and not record.experiment.xla):
        return {"compiler_time_s": None, "compiler_source": None}
    return {"compiler_time_s": sum(values), "compiler_source": source}


BLOCK_METRICS = (
    "total_time",
    "per_iter_time",
    "trace_per_iter_time",
    "xla_CompileTime_time_s",
    "xla_ExecuteTime_time_s",
    "xla_ExecutionTime_time_s",
)
_LAST, _LARGEST = ([name for name, kept in SCALARS.items() if kept == which] for which in ("last", "largest"))


def scalars(record: ReadRecord) -> dict[str, float | None]:
    """Return metrics with one value per record: the last where a list has several, the largest of peaks."""
    metrics = record.metrics or {}
    known = {name: [value for value in numbers(metrics.get(name)) if value is not None] for name in _LAST + _LARGEST}
    return {
        name: (max(values) if name in _LARGEST else values[-1]) if values else None for name, values in known.items()
    }


def warm_up(found: Sequence[Block], iterations: int | None) -> float | None:
    """Return the seconds of the first five iterations, in whole blocks; None where a block has no iterations."""
    if iterations == 0:
        return None
    first = [block.total_s for block in found[: max(0, math.ceil(5 / (iterations or 1)))] if block.total_s is not None]
    return sum(first) if first else None


def trace(found: Sequence[Block]) -> float | None:
    """Return the median tracing seconds per iteration over steady blocks."""
    return median([block.trace_s for block in found if block.kind == "steady" and block.trace_s is not None])


_WITH_COLUMN = frozenset({"trace_total_time", *_LAST, *_LARGEST, *BLOCK_METRICS, "dynamo_compile_time_s", "error"})


def further(record: ReadRecord) -> dict[str, float]:
    """Return the scalar metrics, a number or a list of one, that have no column of their own."""
    found = {}
    for name, value in (record.metrics or {}).items():
        only = value[0] if isinstance(value, list) and len(value) == 1 else value
        if (
            name not in _WITH_COLUMN
            and not name.startswith("xla_")
            and isinstance(only, int | float)
            and not isinstance(only, bool)
        ):
            found[name] = float(only)
    return found


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile by linear interpolation between order statistics (R type 7, numpy's default)."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def spread(values: Sequence[float]) -> float | None:
    """Return (q75 - q25) / median, without unit; None under two samples or where the median is not positive."""
    if len(values) < 2:
        return None
    middle = statistics.median(values)
    return (quantile(values, 0.75) - quantile(values, 0.25)) / middle if middle > 0 else None
