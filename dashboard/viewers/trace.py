"""Summary of a chrome trace: the time of each operation, by itself and including the operations that it called."""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from dashboard.data import query_text
from store.errors import XlabenchError

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
