"""Files of other tools as tables: dynamo's counters, PyTorch/XLA's metrics, the profiler's table, Chrome traces.

The summary of a trace has the time of each operation, by itself and including the operations that it called.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from dashboard.data import query_text
from store.errors import XlabenchError

MOST_BYTES = 4 * 2**20
"""Largest size of a report, which usually has kilobytes; larger files are shown as text."""
_LARGEST_COUNT = 2**63
_MOST_COLUMNS = 100
_LONGEST_DURATION = 64
"""Largest length of a duration, since searching a text for durations takes time quadratic in its length."""

_TIME = re.compile(r"(\d+(?:\.\d+)?)(d|hr|h|ms|us|ns|m|s)")
_SECONDS = {"d": 86400.0, "hr": 3600.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def dynamo(path: Path) -> pd.DataFrame | None:
    """Return dynamo's counters: columns group, counter, value; None if the file is something else."""
    try:
        document = json.loads(_read(path))
    except (ValueError, OSError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    rows = [(group, name, value) for group, entries in document.items() for name, value in _counters(entries)]
    return pd.DataFrame(rows, columns=["group", "counter", "value"])


def _counters(entries: Any) -> Iterator[tuple[str, float]]:
    if isinstance(entries, dict):
        yield from ((str(name), value) for name, value in entries.items() if _is_number(value))
    elif _is_number(entries):
        yield "", entries


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < _LARGEST_COUNT)


def xla_metrics(path: Path) -> pd.DataFrame | None:
    """Return a metrics report: columns kind, name, samples_n, total, total_s; None where the file is something else.

    `total_s` is the accumulated time; other values, such as bytes or a number of nodes, are in `total`.
    """
    try:
        lines = _read(path).splitlines()
    except (ValueError, OSError):
        return None
    rows: list[dict[str, Any]] = []
    for line in lines:
        word, _, value = line.strip().partition(": ")
        if not line.startswith(" ") and word in ("Metric", "Counter"):
            rows.append({"kind": word.lower(), "name": value, "samples_n": None, "total": None, "total_s": None})
        elif rows and word in ("TotalSamples", "Value"):
            rows[-1]["samples_n" if word == "TotalSamples" else "total"] = _number(value)
        elif rows and word == "Accumulator":
            seconds = duration_s(value)
            rows[-1]["total" if seconds is None else "total_s"] = _number(value) if seconds is None else seconds
    return (
        pd.DataFrame(rows).astype({"samples_n": "Float64", "total": "Float64", "total_s": "Float64"}) if rows else None
    )


def duration_s(text: str) -> float | None:
    """Return seconds of a duration as PyTorch/XLA writes it, `01m02s003ms004.5us`; None for any other text."""
    if not text or len(text) > _LONGEST_DURATION or _TIME.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _TIME.findall(text))


def profile(path: Path) -> pd.DataFrame | None:
    """Return the table of `key_averages` with its own column names; None if the file is something else."""
    try:
        lines = _read(path).splitlines()
    except (ValueError, OSError):
        return None
    rules = [number for number, line in enumerate(lines) if line.startswith("-----")]
    if len(rules) < 3:  # noqa: PLR2004 - above the header, below it, and at the end
        return None
    spans = [match.span() for match in re.finditer(r"-+", lines[rules[0]])]
    header = _cells(lines[rules[0] + 1], spans)
    if not spans or len(spans) > _MOST_COLUMNS or len(set(header)) < len(header):
        return None
    rows = [_cells(line, spans) for line in lines[rules[1] + 1 : rules[2]]]
    return pd.DataFrame([[_value(cell) for cell in row] for row in rows], columns=_units(header, rows))


def _cells(line: str, spans: list[tuple[int, int]]) -> list[str]:
    return [line[start:end].strip() for start, end in spans]


def _units(header: list[str], rows: list[list[str]]) -> list[str]:
    """Add the unit to the names of columns of durations, whose cells become numbers of milliseconds."""
    return [
        f"{name}, ms" if any(duration_s(row[place]) is not None for row in rows) else name
        for place, name in enumerate(header)
    ]


def _value(cell: str) -> Any:
    """Return a cell as a number (milliseconds, percent or a count); else its text."""
    seconds = duration_s(cell)
    if seconds is not None:
        return seconds * 1e3
    try:
        return float(cell.removesuffix("%"))
    except ValueError:
        return cell


def _number(text: str) -> float | None:
    scale = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
    match = re.fullmatch(r"([-+.\deE]+)\s*([KMGT]?B)?", text.strip())
    if match is None:
        return None
    try:
        return float(match[1]) * scale[match[2] or "B"]
    except ValueError:
        return None


def _read(path: Path) -> str:
    if path.stat().st_size > MOST_BYTES:
        raise ValueError("too large for a report")
    return path.read_text(encoding="utf-8", errors="replace")


LARGEST = 128 * 2**20
"""Largest JSON in bytes that is summed up here; the timeline opens larger traces."""
_US_PER_S = 1e6
_BLOCK = 2**20


class NotSummed(XlabenchError, ValueError):
    """The trace cannot be summed up here; the message says why."""


@dataclass
class _Sum:
    calls: int = 0
    total_us: float = 0.0
    self_us: float = 0.0


def top_ops(path: Path) -> pd.DataFrame:
    """Return one row per category and name of complete events: calls_n, self_s, total_s, mean_s, the longest first.

    `self_s` excludes the time of events inside it on the same thread; only these times may be added up.

    Raises:
        NotSummed: the file is too large, or no trace.
    """
    length = _unpacked_bytes(path)
    if length > LARGEST:
        raise NotSummed(f"more than {LARGEST // 2**20} MiB unpacked: open the timeline, or download it")
    sums: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
    for thread in _threads(_events(path, length)):
        _add_thread(thread, sums)
    rows = [(cat, name, s.calls, s.self_us / _US_PER_S, s.total_us / _US_PER_S) for (cat, name), s in sums.items()]
    frame = pd.DataFrame(rows, columns=["category", "name", "calls_n", "self_s", "total_s"])
    frame["mean_s"] = frame["total_s"] / frame["calls_n"]
    return frame.sort_values("self_s", ascending=False, ignore_index=True)


def _events(path: Path, length: int) -> list[tuple[Any, ...]]:
    """Return (process, thread, category, name, begin, duration) in order, by a DuckDB that can read only this file."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "memory_limit": "512MB",
        "threads": "2",
    }
    try:
        with duckdb.connect(config=config) as con:
            # A setting takes no parameter.
            con.execute(f"SET allowed_paths = {query_text.literal([str(path)])}")
            con.execute("SET enable_external_access = false; SET lock_configuration = true")
            return con.execute(query_text.read("trace_events"), {"path": str(path), "largest": length + 1}).fetchall()
    except duckdb.OutOfMemoryException as error:
        raise NotSummed("it needs more memory than a page may take: open the timeline, or download it") from error
    except duckdb.Error as error:
        raise NotSummed(f"not a readable Chrome trace ({str(error).splitlines()[0]})") from error


def _threads(events: list[tuple[Any, ...]]) -> Iterable[list[tuple[Any, ...]]]:
    parts: dict[tuple[Any, Any], list[tuple[Any, ...]]] = defaultdict(list)
    for event in events:
        parts[event[0], event[1]].append(event)
    return parts.values()


def _add_thread(events: list[tuple[Any, ...]], sums: dict[tuple[str, str], _Sum]) -> None:
    """Add the events of one thread; the time of each is subtracted from the self time of the enclosing event."""
    open_ones: list[tuple[float, _Sum]] = []
    for _, _, category, name, begin, duration in events:
        while open_ones and open_ones[-1][0] <= begin:
            open_ones.pop()
        entry = sums[category or "", name or ""]
        entry.calls += 1
        entry.total_us += duration
        entry.self_us += duration
        if open_ones:
            open_ones[-1][1].self_us -= duration
        open_ones.append((begin + duration, entry))


def _unpacked_bytes(path: Path) -> int:
    """Return the length of the JSON; unpacking stops after the limit, whatever size the file claims."""
    if path.suffix != ".gz":
        return path.stat().st_size
    length = 0
    try:
        with gzip.open(path, "rb") as stream:
            while length <= LARGEST and (block := stream.read(_BLOCK)):
                length += len(block)
    except (OSError, EOFError, zlib.error) as error:
        raise NotSummed("the file is truncated, or is not compressed with gzip") from error
    return length
