"""The HUD's two formats: the TorchDynamo harness's CSV files, and the JSON benchmark format (v3)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec

from store import harness_csv
from store.exporters.target import Target, WrittenExport, folder_name, rows
from store.harness_csv import COUNTERS, Cell, Row, counters_of
from store.importers import hud_names
from store.importers.hud_names import FileNameParts, file_name
from store.query import Connection, fetch, named

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
    view_rows = fetch(con, named("hud_rows"), {"run": run, **nothing})
    reported = {row["record_id"]: row for row in fetch(con, named("export_hud_reported"), {"run": run})}
    measured = (
        {row["record_id"]: _measured(row) for row in rows(con, "export_record_details", [run])} if view_rows else {}
    )
    details = measured | reported
    return [
        HudRow(
            row,
            details.get(row["performance_record_id"]),
            details.get(row["accuracy_record_id"]) if row["accuracy"] else None,
        )
        for row in view_rows
    ]


def _measured(row: dict[str, Any]) -> Details:
    """Return the further fields of a record of ours."""
    record = json.loads(row["record"])
    # Ingest checks only those parts of other tools' records that become columns.
    metrics, verification = (part if isinstance(part := record.get(name), dict) else {} for name in _OBJECTS)
    return {
        **_NO_DETAILS,
        **counters_of(metrics),
        "batch_size": verification.get("batch_size") or row["batch_size"],
        "compiler_time_s": row["compiler_time_s"] if row["compiler_source"] == "dynamo" else None,
    }


# One folder per run, two CSV files per backend.
_FILE = ("variant", "suite", "test", "accelerator")
_FILE_OPTIONAL = ("dtype", "accelerator_model")
_PERFORMANCE = {
    name: hud_names.METRICS[name]
    for name in (
        *("speedup", "abs_latency", "compilation_latency", "compression_ratio"),
        *("eager_peak_mem", "dynamo_peak_mem"),
    )
}
"""Column of the HUD → our metric, in the HUD's order; a missing number is an empty cell, and never 0."""


def export_csv(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write FOLDER/RUN/BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv."""
    assert target.folder is not None  # noqa: S101 (the format asks for one)
    lines_n, alike_n, alone_n = 0, 0, 0
    for run in runs:
        hud_rows = sorted(hud_data(con, run), key=_series)
        for _, of_series in itertools.groupby(hud_rows, _series):
            of_file = list(of_series)
            lines_n += _write(target.folder / folder_name(run), of_file)
            alike_n += len(of_file) - len({(hud_row.row["model"], hud_row.row["batch_size"]) for hud_row in of_file})
            alone_n += sum(
                hud_row.row["hud_speedup"] is None and hud_row.row["abs_latency_ms"] is not None for hud_row in of_file
            )
    return WrittenExport(lines_n, (*_alike(alike_n), *_alone(alone_n)))


def _alone(results_n: int) -> tuple[str, ...]:
    """Return a note on results without eager's beside them; without a speedup the harness has only failures."""
    if not results_n:
        return ()
    return (f"Results written as failures, because they have a time but no speedup over eager: {results_n}.",)


def _alike(results_n: int) -> tuple[str, ...]:
    """Return a note on results that the format cannot tell from others; the harness measures one environment."""
    if not results_n:
        return ()
    note = f"Results in a file with another result of the same model and batch size: {results_n}."
    return (f"{note} They differ in fields that the format lacks (environment, optimizer, loss, what is timed).",)


def _series(hud_row: HudRow) -> tuple[str, ...]:
    return tuple(str(hud_row.row[name] or "") for name in (*_FILE, *_FILE_OPTIONAL))


def _write(folder: Path, hud_rows: Sequence[HudRow]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"performance": list(performance(hud_rows)), "accuracy": list(accuracy(hud_rows))}
    for kind, lines in parts.items():
        if lines:
            first_row = hud_rows[0].row
            name = FileNameParts(kind=kind, **{name: first_row[name] for name in (*_FILE, *_FILE_OPTIONAL)})
            (folder / file_name(name)).write_text(harness_csv.text(lines), encoding="utf-8")
    return sum(map(len, parts.values()))


def performance(hud_rows: Sequence[HudRow]) -> Iterable[Row]:
    """Return the lines of performance runs; one without a speedup is the harness's line of a failure."""
    timed = [hud_row for hud_row in hud_rows if hud_row.performance is not None]
    further = _used(timed, {"baseline": "prior_speedup", "speedup_vs_baseline": "speedup_vs_prior"})
    lookups = _used(timed, {"cache_lookup_latency": "cache_lookup_latency_s"})
    for hud_row in timed:
        row, details = hud_row.row, hud_row.performance or {}
        line = _csv_head(row, details, row["batch_size"], tagged=_tagged(timed))
        if row["hud_speedup"] is None:
            yield line | {"batch_size": 0, "speedup": 0.0, "abs_latency": 0.0}
            continue
        for name, column in _PERFORMANCE.items():
            line[name] = _cell(row[column])
            if name == "abs_latency":
                line |= {name: _cell(details[column]) for name, column in further.items()}
        line |= {name: _cell(details[column]) for name, column in lookups.items()}
        yield line | {name: _cell(details[name]) for name in COUNTERS}


def accuracy(hud_rows: Sequence[HudRow]) -> Iterable[Row]:
    """Return the lines of accuracy runs."""
    checked = [hud_row for hud_row in hud_rows if hud_row.accuracy is not None]
    for hud_row in checked:
        details = hud_row.accuracy or {}
        line = _csv_head(hud_row.row, details, details["batch_size"], tagged=_tagged(checked, of="accuracy"))
        line["accuracy"] = hud_row.row["accuracy"]
        line |= {name: _cell(details[name]) for name in COUNTERS}
        yield line | {"compilation_latency": _cell(details["compiler_time_s"])}


def _csv_head(row: dict[str, Any], details: dict[str, Any], batch_size: int | None, *, tagged: bool) -> Row:
    line: Row = {"dev": row["accelerator"], "name": row["model"], "batch_size": batch_size or 0}
    return line | {"tag": details["tag"] or ""} if tagged else line


def _tagged(hud_rows: Sequence[HudRow], of: str = "performance") -> bool:
    return any((getattr(hud_row, of) or {})["tag"] for hud_row in hud_rows)


def _used(hud_rows: Sequence[HudRow], columns: dict[str, str]) -> dict[str, str]:
    """Return the optional columns if any line has them: a file has one header."""
    filled = any((hud_row.performance or {})[column] is not None for hud_row in hud_rows for column in columns.values())
    return columns if filled else {}


def _cell(value: Any) -> Cell:
    return "" if value is None else value


# JSON: one object per metric, with the run in `extra_info`.
_SCHEMA = "v3"
_JSON_NAMES = {column: name for name, column in hud_names.METRICS.items()}
_OF_DETAILS = ("prior_speedup", "speedup_vs_prior", "cache_lookup_latency_s", *COUNTERS)


def export_json(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write the objects of all runs, one a line."""
    assert target.file is not None  # noqa: S101 (the format is one file)
    rows_n = 0
    for run in runs:
        for hud_row in hud_data(con, run):
            for benchmark_object in objects(hud_row):
                target.file.write(msgspec.json.encode(benchmark_object) + b"\n")
            rows_n += 1
    return WrittenExport(rows_n)


def objects(hud_row: HudRow) -> Iterator[dict[str, Any]]:
    """Yield the objects of a row: of its performance run, then of its accuracy run; an unknown value has none."""
    if hud_row.performance is not None:
        head = _json_head(hud_row.row, hud_row.performance, "performance", hud_row.row["batch_size"])
        numbers = {name: hud_row.row[name] for name in _PERFORMANCE.values()} | {
            name: hud_row.performance[name] for name in _OF_DETAILS
        }
        if hud_row.row["hud_speedup"] is None and hud_row.row["abs_latency_ms"] is None:
            numbers["hud_speedup"] = 0.0  # the harness writes 0 for a failure
        for name, value in numbers.items():
            if value is not None:
                yield head | {"metric": {"name": _JSON_NAMES[name], "benchmark_values": [value]}}
    if hud_row.accuracy is not None:
        head = _json_head(hud_row.row, hud_row.accuracy, "accuracy", hud_row.accuracy["batch_size"])
        yield head | {"metric": {"name": "accuracy", "extra_info": {"benchmark_values": [hud_row.row["accuracy"]]}}}
        further = {name: hud_row.accuracy[name] for name in COUNTERS}
        further["compilation_latency"] = hud_row.accuracy["compiler_time_s"]
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
