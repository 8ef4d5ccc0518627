"""Counters as tables: dynamo's JSON, PyTorch/XLA's metrics report, the profiler's table of operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

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
