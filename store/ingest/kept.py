"""The text that the index keeps of another tool's line: without the lists of numbers that it keeps as columns.

Their digits are more than nine tenths of such a line, compressed. Macro `whole_text` of store/views puts them back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

_MARK = "@records."
"""How the word begins that takes the place of a list, and names its column."""


class _Held(NamedTuple):
    """What a column of table `records` holds of a metric: a list of numbers of one type."""

    mark: str
    types: frozenset[type]
    per_block: bool
    """One number for each timed block; else one alone."""


def _held(column: str, kind: type = float, *, per_block: bool = True) -> _Held:
    return _Held(_MARK + column, frozenset({kind}), per_block)


_HELD = {
    "total_time": _held("block_total_s"),
    "per_iter_time": _held("block_per_iter_s"),
    "trace_per_iter_time": _held("block_trace_s"),
    "xla_CompileTime_time_s": _held("block_compile_s"),
    "xla_ExecuteTime_time_s": _held("block_execute_s"),
    "load_time_s": _held("load_time_s", per_block=False),
    "dynamo_compile_time_s": _held("compiler_time_s", per_block=False),
    "peak_memory_bytes": _held("peak_memory_bytes", int, per_block=False),
}
"""Metrics that a column holds number by number, as store/load/made.sql fills it."""
_LARGEST = 2**53
"""A column holds larger integers only nearly."""
_TEXT = f'"{_MARK}'.encode()
_ESCAPED = f'"\\u0040{_MARK[1:]}'.encode()
"""The same text in JSON, which is no such word."""


def kept_text(line: bytes, record: dict[str, Any]) -> bytes:
    """Return the text of a line in which `"@records.COLUMN"` takes the place of each list that a column holds.

    Args:
        line: the line as it stands in its file, or in standard JSON.
        record: what it says.
    """
    metrics = record.get("metrics")
    if isinstance(metrics, dict) and (marks := _marks(metrics, record)):
        text = msgspec.json.encode({**record, "metrics": {**metrics, **marks}})
        if text.count(_TEXT) == len(marks):
            return text
    return line.replace(_TEXT, _ESCAPED)


def _marks(metrics: dict[str, Any], record: dict[str, Any]) -> dict[str, str]:
    totals: Any = metrics.get("total_time")
    if type(totals) is not list or not totals:
        return {}
    marks, blocks_n = {}, len(totals)
    for name in metrics.keys() & _HELD.keys():
        numbers, (mark, types, per_block) = metrics[name], _HELD[name]
        # Of the type that comes back: JSON writes integers and fractions in two ways.
        if (
            type(numbers) is list
            and len(numbers) == (blocks_n if per_block else 1)
            and types == set(map(type, numbers))
        ):
            marks[name] = mark
    per_run = record.get("iterations_per_run")
    if marks.get("per_iter_time") and per_run and metrics["per_iter_time"] != _per_iteration(totals, per_run):
        del marks["per_iter_time"]  # the column is empty then, and stands for the quotients of the totals
    if marks.get("peak_memory_bytes") and abs(metrics["peak_memory_bytes"][0]) > _LARGEST:
        del marks["peak_memory_bytes"]
    if not record["experiment"].get("dynamo"):
        marks.pop("dynamo_compile_time_s", None)  # the column has XLA's time then
    return marks if "total_time" in marks else {}


def _per_iteration(totals: list[float], per_run: int) -> list[float]:
    return totals if per_run == 1 else [total / per_run for total in totals]
