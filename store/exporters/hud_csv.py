"""CSV files as the TorchDynamo harness writes and the HUD reads them: one folder per run, two files per backend."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from store import harness_csv
from store.exporters.hud_data import HudRow, hud_data
from store.exporters.target import Exported, Target, folder_name
from store.harness_csv import COUNTERS
from store.importers.hud_names import Named, file_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from store.harness_csv import Cell, Row
    from store.query import Connection

_FILE = ("variant", "suite", "test", "accelerator")
_FILE_OPTIONAL = ("dtype", "accelerator_model")
_PERFORMANCE = {
    "speedup": "hud_speedup",
    "abs_latency": "abs_latency_ms",
    "compilation_latency": "compilation_latency_s",
    "compression_ratio": "compression_ratio",
    "eager_peak_mem": "eager_peak_gb",
    "dynamo_peak_mem": "dynamo_peak_gb",
}
"""Their column → ours, in their order; a number that we do not have is an empty cell, and never 0."""


def export(con: Connection, runs: Sequence[str], target: Target) -> Exported:
    """Write FOLDER/RUN/BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    written = 0
    for run in runs:
        found = sorted(hud_data(con, run), key=_series)
        for _, of_series in itertools.groupby(found, _series):
            written += _write(target.folder / folder_name(run), list(of_series))
    return Exported(written)


def _series(found: HudRow) -> tuple[str, ...]:
    return tuple(str(found.row[name] or "") for name in (*_FILE, *_FILE_OPTIONAL))


def _write(folder: Path, found: Sequence[HudRow]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"performance": list(performance(found)), "accuracy": list(accuracy(found))}
    for kind, lines in parts.items():
        if lines:
            first = found[0].row
            name = Named(kind=kind, **{name: first[name] for name in (*_FILE, *_FILE_OPTIONAL)})
            (folder / file_name(name)).write_text(harness_csv.text(lines), encoding="utf-8")
    return sum(map(len, parts.values()))


def performance(found: Sequence[HudRow]) -> Iterable[Row]:
    """Return the lines of performance runs; one without a speedup is the harness's line of a failure."""
    timed = [each for each in found if each.performance is not None]
    further = _used(timed, {"baseline": "prior_speedup", "speedup_vs_baseline": "speedup_vs_prior"})
    lookups = _used(timed, {"cache_lookup_latency": "cache_lookup_latency_s"})
    for each in timed:
        row, details = each.row, each.performance or {}
        line = _head(row, details, row["batch_size"], tagged=_tagged(timed))
        if row["hud_speedup"] is None:
            yield line | {"batch_size": 0, "speedup": 0.0, "abs_latency": 0.0}
            continue
        for name, ours in _PERFORMANCE.items():
            line[name] = _cell(row[ours])
            if name == "abs_latency":
                line |= {name: _cell(details[ours]) for name, ours in further.items()}
        line |= {name: _cell(details[ours]) for name, ours in lookups.items()}
        yield line | {name: _cell(details[name]) for name in COUNTERS}


def accuracy(found: Sequence[HudRow]) -> Iterable[Row]:
    """Return the lines of accuracy runs."""
    checked = [each for each in found if each.accuracy is not None]
    for each in checked:
        details = each.accuracy or {}
        line = _head(each.row, details, details["batch_size"], tagged=_tagged(checked, of="accuracy"))
        line["accuracy"] = each.row["accuracy"]
        line |= {name: _cell(details[name]) for name in COUNTERS}
        yield line | {"compilation_latency": _cell(details["compiler_time_s"])}


def _head(row: dict[str, Any], details: dict[str, Any], batch_size: int | None, *, tagged: bool) -> Row:
    line: Row = {"dev": row["accelerator"], "name": row["model"], "batch_size": batch_size or 0}
    return line | {"tag": details["tag"] or ""} if tagged else line


def _tagged(found: Sequence[HudRow], of: str = "performance") -> bool:
    return any((getattr(each, of) or {})["tag"] for each in found)


def _used(found: Sequence[HudRow], columns: dict[str, str]) -> dict[str, str]:
    """Return the optional columns if any line has them: a file has one header."""
    filled = any((each.performance or {})[ours] is not None for each in found for ours in columns.values())
    return columns if filled else {}


def _cell(value: Any) -> Cell:
    return "" if value is None else value
