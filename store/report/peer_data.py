"""Speedups under PyTorch/XLA's own rule (`benchmarks/aggregate.py` @41398bff), from the records of a snapshot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from store import patterns
from store.errors import UsageError
from store.query import named
from store.record.words import TESTS
from store.stats.peer import Datapoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from store.query import Connection

ByBatch = dict[int | None, Datapoint]
ByModel = dict[str, ByBatch]
ByBackend = dict[str, ByModel]


class PeerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the peer's report is asked for; the first backend is the baseline.

    `accelerator` is a regular expression over the accelerator's model; None where the records have one only.
    `include` and `exclude` are regular expressions over model names, alternatives of each other. `files` are paths in
    the order in which their records count; others come before them.
    """

    kind: Literal["speedup", "latest", "latest_grouped", "histogram"] = "speedup"
    metric: Literal["exec", "compile"] = "exec"
    baseline: Literal["oldest", "latest"] = "oldest"
    test: str = "eval"
    accelerator: str | None = None
    backends: tuple[str, ...] = ("inductor", "openxla+dynamo")
    suite: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Speedups(msgspec.Struct, frozen=True):
    """Speedups of one backend at one timestamp, in the order in which models first occur."""

    models: tuple[str, ...]
    values: tuple[Datapoint, ...]

    def geomean(self) -> Datapoint:
        """Return the geometric mean over models."""
        return geomean(self.values)

    def percentile(self, percent: int) -> float:
        """Return a percentile over models."""
        return float(np.percentile([value.avg for value in self.values], percent))


def timeline(con: Connection, options: PeerOptions) -> dict[datetime, dict[str, Speedups]]:
    """Return the speedups by timestamp, oldest first, and backend; a backend without any is absent.

    Raises:
        UsageError: an unknown test, a broken expression, several accelerators where none was chosen, or no baseline
            at the latest timestamp.
    """
    measured = _datapoints(con, options)
    baseline = _baseline(measured, options)
    backends = {backend for points in measured.values() for backend in points}
    return {
        moment: {
            backend: found
            for backend in sorted(backends)
            if (found := _speedups(measured[moment].get(backend, {}), baseline)) is not None
        }
        for moment in sorted(measured)
    }


def _datapoints(con: Connection, options: PeerOptions) -> dict[datetime, ByBackend]:
    if options.test not in TESTS:
        raise UsageError(f"There is no test {options.test!r}. Choose eval or train.")
    include, exclude = _expression(options.include or (".",)), _expression(options.exclude or ("^$",))
    _expression((options.accelerator or ".",))  # the database has the same syntax
    parameters = {
        "metric": options.metric,
        "test": TESTS[options.test],
        "accelerator": options.accelerator or ".",
        "suite": list(options.suite),
        "files": list(options.files),
    }
    rows = con.cursor().execute(named("peer_datapoints"), parameters).fetchall()
    _one_accelerator(sorted({row[0] or "unknown" for row in rows}), options)
    measured: dict[datetime, ByBackend] = {}
    for _, model, backend, batch_size, moment, avg, std in rows:
        if avg != 0 and include.search(model) and not exclude.search(model):
            by_model = measured.setdefault(moment, {}).setdefault(backend, {})
            by_model.setdefault(model, {})[batch_size] = Datapoint(avg, std)
    return measured


def _one_accelerator(models: Sequence[str], options: PeerOptions) -> None:
    if options.accelerator is None and len(models) > 1:
        raise UsageError(
            f"The records come from several accelerators: {'; '.join(models)}. "
            "Choose one with --accelerator, any part of its name."
        )


def _expression(texts: Sequence[str]) -> patterns.Pattern:
    try:
        return patterns.any_of(tuple(texts))
    except patterns.BadPattern as error:
        raise UsageError(f"{error} Correct it.") from None


def _baseline(measured: dict[datetime, ByBackend], options: PeerOptions) -> ByModel:
    """Return the baseline's times: per model and batch size the oldest there are, or those of the newest timestamp."""
    backend = options.backends[0]
    moments = sorted(measured)
    if options.baseline == "latest" and moments:
        if backend not in measured[moments[-1]]:
            raise UsageError(
                f"There is no {backend} result at the latest timestamp {moments[-1]}. "
                "Use --baseline oldest, or another first backend."
            )
        moments = moments[-1:]
    baseline: ByModel = {}
    for moment in moments:
        for model, by_batch in measured[moment].get(backend, {}).items():
            known = baseline.setdefault(model, {})
            for batch_size, point in by_batch.items():
                known.setdefault(batch_size, point)
    return baseline


def _speedups(times: ByModel, baseline: ByModel) -> Speedups | None:
    models, values = [], []
    for model, by_batch in times.items():
        known = baseline.get(model, {})
        ratios = [speedup(point, known[batch]) for batch, point in by_batch.items() if batch in known]
        if ratios:
            models.append(model)
            values.append(geomean(ratios))
    return Speedups(tuple(models), tuple(values)) if values else None


def speedup(experiment: Datapoint, baseline: Datapoint) -> Datapoint:
    """Return baseline / experiment; relative deviations add as squares."""
    relative = math.sqrt((experiment.std / experiment.avg) ** 2 + (baseline.std / baseline.avg) ** 2)
    value = baseline.avg / experiment.avg
    return Datapoint(value, relative * value)


def geomean(values: Sequence[Datapoint]) -> Datapoint:
    """Return g = (product of all)^(1/n) and g/n · √(sum of squared relative deviations)."""
    with np.errstate(invalid="ignore", divide="ignore"):  # a negative compile time has no logarithm: NaN, as theirs
        center = float(np.exp(np.mean(np.log([value.avg for value in values]))))
    return Datapoint(center, center / len(values) * math.sqrt(sum((value.std / value.avg) ** 2 for value in values)))
