"""PARAM's compute microbenchmarks: one line per operator and input, with every measured time in milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from store.files import uncompressed_path
from store.importers import facts as file_facts
from store.importers import text
from store.importers.facts import FileFacts
from store.importers.shape import BadObject, Imported, Origin, Series, UnreadableLine, frame, guarded
from store.operators import operator_dtype, operator_name

SUITE = "operators"
_PASSES = {"forward": ("eval", ""), "backward": ("train", " backward")}
"""Pass of PARAM → test and suffix of the operator's name; PARAM times a backward pass without its forward."""


class _Line(msgspec.Struct):
    op_name: str
    id: str
    metric: dict[str, dict[str, list[float | None]]]
    config: dict[str, Any] | None = None


class _Setup(msgspec.Struct):
    """The file's first line."""

    run_options: dict[str, Any]
    sys_info: dict[str, Any]
    start_time: str | None = None


class Param:
    """One record per operator, input and pass, with its samples: the backend is eager."""

    name = "param"
    suffixes: tuple[str, ...] = (".json", ".jsonl")

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        first_line = head.partition(b"\n")[0]
        keys = (b'"run_options"', b'"sys_info"') if b'"run_options"' in first_line else (b'"op_name"', b'"metric"')
        return first_line.startswith(b"{") and all(key in first_line for key in keys)

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        facts = file_facts.of(path)
        setup, counts = _Setup({}, {}), Counter[Series]()
        for placed in text.objects(file):
            if isinstance(placed, UnreadableLine):
                yield placed
            elif "run_options" in placed.value:
                setup = _setup(placed.value)
            elif "op_name" in placed.value:
                make = partial(_records, self.name, placed.value, setup, path, facts, counts)
                yield from guarded(placed.line_number, placed.byte_offset, make)


def _setup(value: dict[str, Any]) -> _Setup:
    try:
        return msgspec.convert(value, _Setup)
    except msgspec.ValidationError:
        return _Setup({}, {})


def _records(
    source: str, value: dict[str, Any], setup: _Setup, path: Path, facts: FileFacts, counts: Counter[Series]
) -> Iterator[dict[str, Any]]:
    """Yield the records of a line.

    Raises:
        BadObject: it has another form.
    """
    try:
        line = msgspec.convert(value, _Line)
    except msgspec.ValidationError as error:
        raise BadObject(str(error)) from None
    origin = _origin(source, setup, path, facts)
    device = facts.accelerator or str(setup.run_options.get("device") or "cpu").partition(":")[0]
    model = facts.accelerator_model or setup.sys_info.get("cuda_device_name")
    for name, metrics in line.metric.items():
        test, suffix = _PASSES.get(name, ("eval", f" {name}"))
        series = Series(
            suite=facts.suite or SUITE,
            model=operator_name(line.op_name, line.config or {}) + suffix,
            test=test,
            variant=facts.backend or "eager",
            accelerator=device,
            accelerator_model=None if model is None else str(model),
            dtype=facts.dtype or operator_dtype(line.config or {}),
        )
        entry = _record(origin, series, metrics, setup, counts[series])
        counts[series] += 1
        yield entry | {"reported": {"param_id": line.id}}


def _origin(source: str, setup: _Setup, path: Path, facts: FileFacts) -> Origin:
    started = facts.started(path)
    if facts.time is None and setup.start_time is not None:
        with suppress(ValueError):  # not a time: when the file was written
            started = file_facts.seconds(datetime.fromisoformat(setup.start_time))
    run_key = [str(path), setup.start_time]
    label = facts.label or uncompressed_path(path).stem
    return Origin(source=source, run_key=run_key, label=label, started=started, file=uncompressed_path(path).name)


def _record(
    origin: Origin, series: Series, metrics: dict[str, list[float | None]], setup: _Setup, ordinal: int
) -> dict[str, Any]:
    warm = [_seconds(value) for value in metrics.get("warmup.time", [])]
    timed = [_seconds(value) for value in metrics.get("measure.time", [])]
    kinds = ["first", *["warmup"] * (len(warm) - 1)][: len(warm)] + ["steady"] * len(timed)
    iterations = setup.run_options.get("iteration")
    means = len(timed) == 1 and isinstance(iterations, int) and iterations > 1
    note = (
        [f"its only time is the mean of {iterations} iterations, which PARAM did not time one by one"] if means else []
    )
    environment = {"torch": setup.sys_info.get("pytorch_version"), "host": setup.sys_info.get("hostname")}
    entry = frame(origin, series, ordinal=ordinal, environment=environment, warnings=note)
    entry |= {"status": "ok", "repeat": len(kinds), "iterations_per_run": 1}
    entry["metrics"] = {"total_time": [*warm, *timed], "per_iter_time": [*warm, *timed], **_memory(metrics)}
    entry["measurement"] = {"blocks": {"kind": kinds}}
    return entry


def _memory(metrics: dict[str, list[float | None]]) -> dict[str, list[float]]:
    """Return the peak memory of the measured part; PARAM's MB are 2^20 bytes, and 0 means not measured (CPU)."""
    peaks = [value for value in metrics.get("measure.gpu.memory", []) if value]
    return {"peak_memory_bytes": [max(peaks) * 2**20]} if peaks else {}


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
