"""The JSONL of PyTorch/XLA's runner, as its own `aggregate.py` and `result_analyzer.py` can read it.

Both tools stop at another backend, at a metric that is no list of numbers, and at a time that is null.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from store.errors import counted
from store.exporters.target import Target, WrittenExport, rows
from store.query import Connection

BACKENDS = ("eager", "inductor", "openxla+dynamo", "openxla+lazytensor")
_TOP = ("model", "repeat", "iterations_per_run", "outputs_file", "timestamp", "verification_code")
_MODEL = ("suite_name", "model_name")
_EXPERIMENT = (
    "experiment_name",
    "accelerator",
    "accelerator_model",
    "xla",
    "xla_flags",
    "dynamo",
    "torch_xla2",
    "test",
    "batch_size",
    "enable_functionalization",
    "keep_model_data_on_cuda",
    "outputs_file",
)
_NEEDED = ("accelerator_model", "xla", "xla_flags", "dynamo", "torch_xla2", "batch_size")
"""Keys without which one of the peer's tools stops; their value may be null."""


def export(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write the lines of all runs into one file in the order of time, by which the peer's aggregator separates runs."""
    assert target.file is not None  # noqa: S101 (the format is one file)
    lines_n, left_out, refused, alike = 0, Counter[str](), Counter[str](), Counter[tuple[Any, ...]]()
    for row in rows(con, "export_peer", runs):
        if row["backend"] not in BACKENDS:
            left_out[row["backend"]] += 1
            continue
        raw = json.loads(row["record"])
        if row["source"] != "peer":
            raw["verification_code"] = row["verification_code"]
        exported = peer_record(raw, foreign=row["source"] == "peer")
        target.file.write(msgspec.json.encode(exported) + b"\n")
        lines_n += 1
        if row["source"] != "peer":
            refused[row["status"]] += row["status"] != "ok" and "total_time" in exported["metrics"]
            config = exported["experiment"]
            alike[row["run_id"], *exported["model"].values(), row["backend"], config["test"], config["batch_size"]] += 1
    return WrittenExport(lines_n, _notes(left_out, +refused, sum(count - 1 for count in alike.values())))


def peer_record(raw: dict[str, Any], *, foreign: bool) -> dict[str, Any]:
    """Return a record with the peer's keys only; a record of the peer keeps all of its keys."""
    experiment = raw["experiment"]
    if not foreign:
        experiment = {name: experiment[name] for name in _EXPERIMENT if name in experiment}
    exported = dict(raw) if foreign else {name: raw[name] for name in _TOP if name in raw}
    if not foreign:
        exported["model"] = {name: raw["model"].get(name, "unknown") for name in _MODEL}
    exported["experiment"] = dict.fromkeys(_NEEDED) | experiment
    exported["metrics"] = _metrics(raw.get("metrics") or {})
    return {"repeat": 0, "iterations_per_run": 1} | exported


def _metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics that are lists of numbers; none without usable times, and the reason if a time is broken."""
    numeric = {name: value for name, value in metrics.items() if _is_numbers(value)}
    error = metrics.get("error")
    if error is not None:
        return numeric | {"error": error}
    if any(value is None for value in numeric.get("total_time", [])):
        return {"error": "a time of this record is not finite"}
    return numeric if "total_time" in numeric else {}


def _is_numbers(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(entry is None or (isinstance(entry, int | float) and not isinstance(entry, bool)) for entry in value)
    )


def _notes(left_out: Counter[str], refused: Counter[str], alike_n: int) -> tuple[str, ...]:
    notes = [
        f"{counted(count, 'record')} of {name} {'is' if count == 1 else 'are'} left out, because PyTorch/XLA's tools "
        "fail on them."
        for name, count in left_out.items()
    ]
    notes += [
        f"{counted(count, 'record')} {'has' if count == 1 else 'have'} the status {status}, so xlabench uses none of "
        "their times, but PyTorch/XLA's tools will."
        for status, count in refused.items()
    ]
    if alike_n:
        records = f"{counted(alike_n, 'record')} {'differs' if alike_n == 1 else 'differ'}"
        notes.append(
            f"{records} from others only in fields that the format lacks (variant, dtype, environment): PyTorch/XLA's "
            "tools take the last of each."
        )
    return tuple(notes)
