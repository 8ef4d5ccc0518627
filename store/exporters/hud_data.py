"""The HUD's two formats: the TorchDynamo harness's CSV files, and the JSON benchmark format (v3)."""

from __future__ import annotations

import itertools
import json
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec

from store import harness_csv
from store.exporters.target import Target, WrittenExport, folder_name, rows
from store.harness_csv import COUNTERS, counted
from store.importers import hud_names
from store.importers.hud_names import Named, file_name
from store.query import fetch, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from store.harness_csv import Cell, Row
    from store.query import Connection


Details = dict[str, Any]
_NO_DETAILS: Details = dict.fromkeys(
    (*COUNTERS, "batch_size", "tag", "prior_speedup", "speedup_vs_prior", "cache_lookup_latency_s", "compiler_time_s")
)


_OBJECTS = ("metrics", "verification")


class HudRow(msgspec.Struct, frozen=True):
    """A row of view `hud_rows`, and the further fields of its performance and its accuracy run, where it has them."""

    row: dict[str, Any]
    performance: Details | None
    accuracy: Details | None


def hud_data(con: Connection, run: str) -> list[HudRow]:
    """Return the rows of a run, by series and model."""
    nothing: dict[str, list[str]] = {name: [] for name in ("suite", "model", "backend", "test", "accelerator", "dtype")}
    found = fetch(con, named("hud_rows"), {"run": run, **nothing})
    reported = {row["record_id"]: row for row in fetch(con, named("export_hud_reported"), {"run": run})}
    measured = {row["record_id"]: _measured(row) for row in rows(con, "export_record_details", [run])} if found else {}
    known = measured | reported
    return [
        HudRow(
            row,
            known.get(row["performance_record_id"]),
            known.get(row["accuracy_record_id"]) if row["accuracy"] else None,
        )
        for row in found
    ]


def _measured(row: dict[str, Any]) -> Details:
    """Return the further fields of a record of ours."""
    record = json.loads(row["record"])
    # Of records of other tools only what becomes a column was checked.
    metrics, verification = (each if isinstance(each := record.get(name), dict) else {} for name in _OBJECTS)
    return {
        **_NO_DETAILS,
        **counted(metrics),
        "batch_size": verification.get("batch_size") or row["batch_size"],
        "compiler_time_s": row["compiler_time_s"] if row["compiler_source"] == "dynamo" else None,
    }


# One folder per run, two CSV files per backend.
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


def export_csv(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write FOLDER/RUN/BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    written = 0
    for run in runs:
        found = sorted(hud_data(con, run), key=_series)
        for _, of_series in itertools.groupby(found, _series):
            written += _write(target.folder / folder_name(run), list(of_series))
    return WrittenExport(written)


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
        line = _csv_head(row, details, row["batch_size"], tagged=_tagged(timed))
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
        line = _csv_head(each.row, details, details["batch_size"], tagged=_tagged(checked, of="accuracy"))
        line["accuracy"] = each.row["accuracy"]
        line |= {name: _cell(details[name]) for name in COUNTERS}
        yield line | {"compilation_latency": _cell(details["compiler_time_s"])}


def _csv_head(row: dict[str, Any], details: dict[str, Any], batch_size: int | None, *, tagged: bool) -> Row:
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


# JSON: one object per metric, with the run in `extra_info`.
_SCHEMA = "v3"
_OURS = {ours: theirs for theirs, ours in hud_names.METRICS.items()}
_OF_ROW = (
    "hud_speedup", "abs_latency_ms", "compilation_latency_s", "compression_ratio", "eager_peak_gb", "dynamo_peak_gb"
)  # fmt: skip
_OF_DETAILS = ("prior_speedup", "speedup_vs_prior", "cache_lookup_latency_s", *COUNTERS)


def export_json(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write the objects of all runs, one a line."""
    assert target.file is not None  # noqa: S101 (the format is one file)
    written = 0
    for run in runs:
        for found in hud_data(con, run):
            for each in objects(found):
                target.file.write(msgspec.json.encode(each) + b"\n")
            written += 1
    return WrittenExport(written)


def objects(found: HudRow) -> Iterator[dict[str, Any]]:
    """Give the objects of a row: of its performance run, then of its accuracy run; what is unknown has none."""
    if found.performance is not None:
        head = _json_head(found.row, found.performance, "performance", found.row["batch_size"])
        numbers = {name: found.row[name] for name in _OF_ROW} | {name: found.performance[name] for name in _OF_DETAILS}
        if found.row["hud_speedup"] is None and found.row["abs_latency_ms"] is None:
            numbers["hud_speedup"] = 0.0  # their way to say that it failed
        for name, value in numbers.items():
            if value is not None:
                yield head | {"metric": {"name": _OURS[name], "benchmark_values": [value]}}
    if found.accuracy is not None:
        head = _json_head(found.row, found.accuracy, "accuracy", found.accuracy["batch_size"])
        yield head | {"metric": {"name": "accuracy", "extra_info": {"benchmark_values": [found.row["accuracy"]]}}}
        further = {name: found.accuracy[name] for name in COUNTERS}
        further["compilation_latency"] = found.accuracy["compiler_time_s"]
        for name, value in further.items():
            if value is not None:
                yield head | {"metric": {"name": name, "benchmark_values": [value]}}


def _json_head(row: dict[str, Any], details: dict[str, Any], kind: str, batch_size: int | None) -> dict[str, Any]:
    info = {
        "device": row["accelerator"],
        "arch": row["accelerator_model"],
        "batch_size": batch_size,
        "performance": kind == "performance",
        "accuracy": kind == "accuracy",
        "run_id": row["run_id"],
        "run_label": row["run_label"],
        "environment": row["environment"],
        "tag": details["tag"],
    }
    return {
        "schema_version": _SCHEMA,
        "timestamp": int(row["run_started"].replace(tzinfo=UTC).timestamp()),
        "benchmark": {
            "name": "TorchInductor" if row["backend"].startswith("inductor") else "xlabench",
            "mode": "training" if row["test"] == "train" else "inference",
            "dtype": row["dtype"],
            "extra_info": {name: value for name, value in info.items() if value is not None},
        },
        "model": {
            "name": row["model"],
            "type": "OSS model",
            "backend": row["variant"],
            "origins": [row["suite"]],
        },
    }
