"""The HUD's JSON benchmark format (v3): one object per metric, the harness's own and those of other benchmarks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from store.files import uncompressed_path
from store.identity import canonical
from store.importers import facts as file_facts
from store.importers import hud_names, text
from store.importers.facts import FileFacts
from store.importers.shape import UNKNOWN, BadObject, Failure, Imported, Origin, Series, UnreadableLine, guarded, record
from store.record.experiment import TESTS


class _Benchmark(msgspec.Struct):
    name: str | None = None
    mode: str | None = None
    dtype: str | None = None
    extra_info: dict[str, Any] | None = None


class _Model(msgspec.Struct):
    name: str
    type: str | None = None
    backend: str | None = None
    origins: list[str] | None = None


class _Metric(msgspec.Struct):
    name: str
    benchmark_values: list[Any] | None = None
    extra_info: dict[str, Any] | None = None


class _Object(msgspec.Struct):
    benchmark: _Benchmark
    model: _Model
    metric: _Metric
    timestamp: float | str | None = None
    workflow_id: int | str | None = None
    runners: Any = None


class _Row(msgspec.Struct, kw_only=True):
    """The metrics of one model and configuration."""

    line_number: int
    byte_offset: int
    first: _Object
    numbers: dict[str, float] = msgspec.field(default_factory=dict)
    accuracy: str | None = None


class HudJson:
    """One record per model, configuration and kind of run; its metrics are gathered over the file."""

    name = "hud-json"
    suffixes: tuple[str, ...] = (".json", ".jsonl")

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the name may be anything)
        return all(f'"{key}"'.encode() in head for key in ("benchmark", "model", "metric", "benchmark_values"))

    def records(self, file: BinaryIO, path: Path) -> Iterator[Imported | UnreadableLine]:
        facts = file_facts.of(path)
        rows: dict[bytes, list[_Row]] = {}
        for placed in text.objects(file):
            if isinstance(placed, UnreadableLine):
                yield placed
            else:
                yield from guarded(placed.line_number, placed.byte_offset, partial(_gather, rows, placed))
        counts: Counter[tuple[str, Series, str]] = Counter()
        for row in itertools.chain.from_iterable(rows.values()):
            make = partial(_records, self.name, row, path, facts, counts)
            yield from guarded(row.line_number, row.byte_offset, make)


def _gather(rows: dict[bytes, list[_Row]], placed: text.PlacedObject) -> tuple[()]:
    """Add a metric to its row; the rows become records when the whole file was read.

    Raises:
        BadObject: it belongs to no row.
    """
    try:
        parsed = msgspec.convert(placed.value, _Object)
    except msgspec.ValidationError as error:
        raise BadObject(str(error)) from None
    name = hud_names.METRICS.get(parsed.metric.name, parsed.metric.name)
    value = _value(parsed.metric)
    if value is None:
        raise BadObject(f"metric {parsed.metric.name} has no value")
    key = canonical({key: part for key, part in placed.value.items() if key != "metric"})
    siblings = rows.setdefault(key, [])
    is_new = not siblings or (
        name in siblings[-1].numbers if isinstance(value, float) else siblings[-1].accuracy is not None
    )
    if is_new:  # the first, or a metric that repeats: another row of the same configuration
        siblings.append(_Row(line_number=placed.line_number, byte_offset=placed.byte_offset, first=parsed))
    if isinstance(value, float):
        siblings[-1].numbers[name] = value
    else:
        siblings[-1].accuracy = value
    return ()


def _value(metric: _Metric) -> float | str | None:
    """Return the mean of the values, as the HUD does; a text comes from `extra_info`."""
    numbers = [value for entry in metric.benchmark_values or [] if (value := text.number(entry)) is not None]
    if numbers:
        return sum(numbers) / len(numbers)
    words = (metric.extra_info or {}).get("benchmark_values")
    return str(words[0]) if isinstance(words, list) and words else None


def _records(
    source: str, row: _Row, path: Path, facts: FileFacts, counts: Counter[tuple[str, Series, str]]
) -> Iterator[dict[str, Any]]:
    """Yield the records of a row.

    Raises:
        BadObject: its test is unknown.
    """
    series = _series(row.first, path, facts)
    origin, info = _origin(source, row.first, path, facts), row.first.benchmark.extra_info or {}
    for kind, numbers, code, failure in _parts(row):
        words = {
            "kind": kind,
            "accuracy": row.accuracy if kind == "accuracy" else None,
            "tag": info.get("tag"),
            "benchmark": row.first.benchmark.name,
        }
        key = (origin.run_id, series, kind)
        entry = record(
            origin,
            series,
            numbers,
            ordinal=counts[key],
            failure=failure,
            verification_code=code,
            reported=words,
        )
        counts[key] += 1
        yield entry


def _parts(row: _Row) -> Iterator[tuple[str, dict[str, float], str | None, Failure | None]]:
    """Yield kind, numbers, verification code and failure of each run; a row may combine two runs."""
    performance = row.accuracy is None or not _TIMED.isdisjoint(row.numbers)
    if row.accuracy is not None:
        code, failure = hud_names.judged(row.accuracy)
        yield "accuracy", {} if performance else hud_names.of_accuracy(row.numbers), code, failure
    if performance:
        speedup = row.numbers.get("hud_speedup")
        yield "performance", row.numbers, None, None if speedup is None else hud_names.not_measured(speedup)


_TIMED = {"hud_speedup", "abs_latency_ms"}
"""Metrics that only a performance run has."""


def _series(parsed: _Object, path: Path, facts: FileFacts) -> Series:
    info, name = parsed.benchmark.extra_info or {}, hud_names.parse(uncompressed_path(path).name)
    test = TESTS.get(facts.test or parsed.benchmark.mode or "") or (name.test if name else None)
    if test is None:
        raise BadObject(f"benchmark.mode is {parsed.benchmark.mode!r}, not inference or training")
    return Series(
        suite=facts.suite or next(iter(parsed.model.origins or []), None) or (name.suite if name else UNKNOWN),
        model=parsed.model.name,
        test=test,
        variant=facts.backend or parsed.model.backend or (name.variant if name else UNKNOWN),
        accelerator=facts.accelerator or str(info.get("device") or (name.accelerator if name else UNKNOWN)),
        accelerator_model=facts.accelerator_model or _accelerator_model(parsed, info),
        dtype=facts.dtype or parsed.benchmark.dtype,
        batch_size=_positive_int(info.get("batch_size")),
    )


def _origin(source: str, parsed: _Object, path: Path, facts: FileFacts) -> Origin:
    info = parsed.benchmark.extra_info or {}
    run = info.get("run_id") or parsed.workflow_id
    return Origin(
        source=source,
        run_key=[run] if run else str(path.parent),
        label=facts.label or str(info.get("run_label") or run or path.parent.name),
        started=facts.started(path) if facts.time else (_seconds(parsed.timestamp) or facts.started(path)),
        file=uncompressed_path(path).name,
    )


def _seconds(value: float | str | None) -> float | None:
    if isinstance(value, str):
        try:
            return file_facts.seconds(datetime.fromisoformat(value))
        except ValueError:
            return None
    return value


def _accelerator_model(parsed: _Object, info: dict[str, Any]) -> str | None:
    """Return the name of the accelerator: the `arch` of the object, or the GPU or type of its first runner."""
    if info.get("arch"):
        return str(info["arch"])
    runners = parsed.runners if isinstance(parsed.runners, list) else []
    runner = runners[0] if runners and isinstance(runners[0], dict) else {}
    name = runner.get("gpu_info") or runner.get("type")
    return str(name) if isinstance(name, str) and name else None


def _positive_int(value: Any) -> int | None:
    size = text.number(value)
    return int(size) if size else None
