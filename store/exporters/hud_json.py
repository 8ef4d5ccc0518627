"""The HUD's JSON benchmark format (v3): one object per metric, with the run in `extra_info`."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec

from store.exporters.hud_data import HudRow, hud_data
from store.exporters.target import Exported, Target
from store.harness_csv import COUNTERS
from store.importers import hud_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from store.query import Connection

_SCHEMA = "v3"
_OURS = {ours: theirs for theirs, ours in hud_words.METRICS.items()}
_OF_ROW = (
    "hud_speedup", "abs_latency_ms", "compilation_latency_s", "compression_ratio", "eager_peak_gb", "dynamo_peak_gb"
)  # fmt: skip
_OF_DETAILS = ("prior_speedup", "speedup_vs_prior", "cache_lookup_latency_s", *COUNTERS)


def export(con: Connection, runs: Sequence[str], target: Target) -> Exported:
    """Write the objects of all runs, one a line."""
    assert target.file is not None  # noqa: S101 (the format is one file)
    written = 0
    for run in runs:
        for found in hud_data(con, run):
            for each in objects(found):
                target.file.write(msgspec.json.encode(each) + b"\n")
            written += 1
    return Exported(written)


def objects(found: HudRow) -> Iterator[dict[str, Any]]:
    """Give the objects of a row: of its performance run, then of its accuracy run; what is unknown has none."""
    if found.performance is not None:
        head = _head(found.row, found.performance, "performance", found.row["batch_size"])
        numbers = {name: found.row[name] for name in _OF_ROW} | {name: found.performance[name] for name in _OF_DETAILS}
        if found.row["hud_speedup"] is None and found.row["abs_latency_ms"] is None:
            numbers["hud_speedup"] = 0.0  # their way to say that it failed
        for name, value in numbers.items():
            if value is not None:
                yield head | {"metric": {"name": _OURS[name], "benchmark_values": [value]}}
    if found.accuracy is not None:
        head = _head(found.row, found.accuracy, "accuracy", found.accuracy["batch_size"])
        yield head | {"metric": {"name": "accuracy", "extra_info": {"benchmark_values": [found.row["accuracy"]]}}}
        further = {name: found.accuracy[name] for name in COUNTERS}
        further["compilation_latency"] = found.accuracy["compiler_time_s"]
        for name, value in further.items():
            if value is not None:
                yield head | {"metric": {"name": name, "benchmark_values": [value]}}


def _head(row: dict[str, Any], details: dict[str, Any], kind: str, batch_size: int | None) -> dict[str, Any]:
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
