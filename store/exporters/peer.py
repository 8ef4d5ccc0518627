"""The JSONL of PyTorch/XLA's runner, as its own `aggregate.py` and `result_analyzer.py` can read it.

Both stop at what they do not know: another backend, a metric that is no list of numbers, a time that is null.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from store.exporters.target import Target, WrittenExport, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

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
"""Without these keys one of their tools stops; null is all right."""


def export(con: Connection, runs: Sequence[str], target: Target) -> WrittenExport:
    """Write the lines of all runs into one file, by the runs' time; their aggregator tells runs by it."""
    assert target.file is not None  # noqa: S101 (the format is one file)
    written, left, alike = 0, Counter[str](), Counter[tuple[Any, ...]]()
    for row in rows(con, "export_peer", runs):
        if row["backend"] not in BACKENDS:
            left[row["backend"]] += 1
            continue
        raw = json.loads(row["record"])
        if row["source"] != "peer":
            raw["verification_code"] = row["verification_code"]
        made = peer_record(raw, foreign=row["source"] == "peer")
        target.file.write(msgspec.json.encode(made) + b"\n")
        written += 1
        if row["source"] != "peer":
            config = made["experiment"]
            alike[row["run_id"], *made["model"].values(), row["backend"], config["test"], config["batch_size"]] += 1
    return WrittenExport(written, _notes(left, sum(count - 1 for count in alike.values())))


def peer_record(raw: dict[str, Any], *, foreign: bool) -> dict[str, Any]:
    """Return a record with the peer's keys only; one of the peer's keeps all that it has."""
    experiment = raw["experiment"]
    if not foreign:
        experiment = {name: experiment[name] for name in _EXPERIMENT if name in experiment}
    made = dict(raw) if foreign else {name: raw[name] for name in _TOP if name in raw}
    if not foreign:
        made["model"] = {name: raw["model"].get(name, "unknown") for name in _MODEL}
    made["experiment"] = dict.fromkeys(_NEEDED) | experiment
    made["metrics"] = _metrics(raw.get("metrics") or {})
    return {"repeat": 0, "iterations_per_run": 1} | made


def _metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the lists of numbers; without usable times none of them, and with a broken one the reason."""
    kept = {name: value for name, value in metrics.items() if _is_numbers(value)}
    error = metrics.get("error")
    if error is not None:
        return kept | {"error": error}
    if any(value is None for value in kept.get("total_time", [])):
        return {"error": "a time of this record is not finite"}
    return kept if "total_time" in kept else {}


def _is_numbers(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(each is None or (isinstance(each, int | float) and not isinstance(each, bool)) for each in value)
    )


def _notes(left: Counter[str], alike_n: int) -> tuple[str, ...]:
    notes = [
        f"{count} records of {name} are left out, because the peer's tools stop at them."
        for name, count in left.items()
    ]
    if alike_n:
        notes.append(
            f"{alike_n} records differ from others only in fields that the format lacks (variant, dtype, environment): "
            "the peer's tools take the last of each."
        )
    return tuple(notes)
