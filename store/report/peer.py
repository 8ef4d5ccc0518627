"""The reports of PyTorch/XLA's aggregator: the same numbers, to 8 decimals, in the same layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from store import patterns
from store.choose import unknown_accelerator
from store.errors import UsageError, counted
from store.query import Connection, named
from store.record.experiment import TESTS
from store.report.table import Cell, Column, Report, Table

_TITLES = {
    "eager": "Eager",
    "inductor": "Inductor",
    "openxla+dynamo": "XLA+Dynamo",
    "openxla+lazytensor": "XLA+LazyTensor",
}
_PERCENTILES = (95, 50, 5)
_DECIMALS = 8


class PeerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the peer's report; the first backend is the baseline.

    `accelerator` is a regular expression over the accelerator's model; None if the records have only one.
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


class Datapoint(NamedTuple):
    """A mean and the standard deviation of its samples, in seconds or without unit for a ratio."""

    avg: float
    std: float


class _Measured(NamedTuple):
    """A record with a value; columns as in the query."""

    accelerator: str | None
    model: str
    backend: str
    batch_size: int | None
    moment: datetime
    avg: float
    std: float
    disturbed: bool
    wrong: bool
    begins: list[datetime]
    """Times of the users' marks on its series."""

    def is_parted(self, other: _Measured) -> bool:
        """Tell whether a user's mark lies between the two records."""
        return any(
            min(self.moment, other.moment) < begin <= max(self.moment, other.moment)
            for begin in (*self.begins, *other.begins)
        )


ByBatch = dict[int | None, _Measured]
ByModel = dict[str, ByBatch]
ByBackend = dict[str, ByModel]
_Baselines = dict[tuple[str, int | None], list[_Measured]]
"""Model and batch size → the records that may be the baseline, the first choice first."""


class Speedups(msgspec.Struct, frozen=True):
    """Speedups of one backend at one timestamp, in the order in which models first occur."""

    models: tuple[str, ...]
    values: tuple[Datapoint, ...]

    def geomean(self) -> Datapoint:
        return geomean(self.values)

    def percentile(self, percent: int) -> float:
        return float(np.percentile([value.avg for value in self.values], percent))


Timeline = dict[datetime, dict[str, Speedups]]


def timeline(con: Connection, options: PeerOptions) -> dict[datetime, dict[str, Speedups]]:
    """Return the speedups by timestamp, oldest first, and backend; a backend without any is absent.

    Raises:
        UsageError: an unknown test, a broken expression, an accelerator that no result has, several accelerators where
            none was chosen, or no baseline at the latest timestamp.
    """
    measured = _by_moment(_rows(con, options))
    baselines = _baselines(measured, options)
    backends = {backend for points in measured.values() for backend in points}
    return {
        moment: {
            backend: speedups
            for backend in sorted(backends)
            if (speedups := _speedups(measured[moment].get(backend, {}), baselines)) is not None
        }
        for moment in sorted(measured)
    }


def _rows(con: Connection, options: PeerOptions) -> list[_Measured]:
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
    rows = [_Measured(*row) for row in con.cursor().execute(named("peer_datapoints"), parameters).fetchall()]
    if not rows and options.accelerator is not None:
        every = con.cursor().execute(named("peer_datapoints"), {**parameters, "accelerator": "."}).fetchall()
        if every:
            there = {_Measured(*row).accelerator or "unknown" for row in every}
            raise unknown_accelerator(options.accelerator, there)
    _one_accelerator(sorted({row.accelerator or "unknown" for row in rows}), options)
    return [row for row in rows if row.avg != 0 and include.search(row.model) and not exclude.search(row.model)]


def _by_moment(rows: Iterable[_Measured]) -> dict[datetime, ByBackend]:
    measured: dict[datetime, ByBackend] = {}
    for row in rows:
        by_model = measured.setdefault(row.moment, {}).setdefault(row.backend, {})
        by_model.setdefault(row.model, {})[row.batch_size] = row
    return measured


def _one_accelerator(models: Sequence[str], options: PeerOptions) -> None:
    if options.accelerator is None and len(models) > 1:
        raise UsageError(
            f"The records come from several accelerators: {'; '.join(models)}. "
            "Choose one with --accelerator NAME; a part of its name is enough."
        )


def _expression(texts: Sequence[str]) -> patterns.Pattern:
    try:
        return patterns.any_of(tuple(texts))
    except patterns.BadPattern as error:
        raise UsageError(f"{error} Correct it.") from None


def _baselines(measured: dict[datetime, ByBackend], options: PeerOptions) -> _Baselines:
    """Return the baseline's records by model and batch size: from the oldest on, or those of the newest timestamp."""
    backend = options.backends[0]
    moments = sorted(measured)
    if options.baseline == "latest" and moments:
        if backend not in measured[moments[-1]]:
            raise UsageError(
                f"There is no {backend} result at the latest timestamp {moments[-1]}. "
                "Use --baseline oldest, or another first backend."
            )
        moments = moments[-1:]
    baselines: _Baselines = {}
    for moment in moments:
        for model, by_batch in measured[moment].get(backend, {}).items():
            for batch_size, row in by_batch.items():
                baselines.setdefault((model, batch_size), []).append(row)
    return baselines


def _baseline_of(row: _Measured, baselines: _Baselines) -> _Measured | None:
    """Return the first baseline on the same side of each mark. The peer knows no marks; without one it is the first."""
    return next((base for base in baselines.get((row.model, row.batch_size), ()) if not row.is_parted(base)), None)


def _speedups(rows: ByModel, baselines: _Baselines) -> Speedups | None:
    models, values = [], []
    for model, by_batch in rows.items():
        pairs = ((row, _baseline_of(row, baselines)) for row in by_batch.values())
        ratios = [speedup(_datapoint(row), _datapoint(base)) for row, base in pairs if base is not None]
        if ratios:
            models.append(model)
            values.append(geomean(ratios))
    return Speedups(tuple(models), tuple(values)) if values else None


def _datapoint(row: _Measured) -> Datapoint:
    return Datapoint(row.avg, row.std)


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


def peer_report(con: Connection, options: PeerOptions, *, grid: bool = False) -> Report:
    """Return one of the peer's four reports; `grid` breaks headers into lines as its `--format=tab` does.

    Raises:
        UsageError: see `store.report.peer.timeline`.
    """
    moments = timeline(con, options)
    columns, rows = _BUILDERS[options.kind](moments, options, grid)
    title = f"Speedup over {options.baseline} {options.backends[0]}, peer rule"
    measured = _rows(con, options)
    notes = (*(_doubts(measured) if rows else ()), *_parted(measured, options))
    if not rows and not notes:
        notes = ("No result matches the filters.",)
    table = Table(title=title, columns=tuple(columns), rows=tuple(rows))
    return Report(title=title, tables=(table,) if columns else (), notes=notes)


def _doubts(rows: Sequence[_Measured]) -> tuple[str, ...]:
    """Say how many records the peer rule cannot tell from others, and how many the other rules would not use."""
    notes = []
    if replaced := len(rows) - len({(row.moment, row.backend, row.model, row.batch_size) for row in rows}):
        notes.append(
            f"{counted(replaced, 'record')} {'has' if replaced == 1 else 'have'} a later one of the same model, "
            "backend, batch size and time, which counts instead: the peer rule knows no suite, variant, dtype, "
            "environment or process."
        )
    kinds = {"disturbed by other programs": "disturbed", "with a wrong answer": "wrong"}
    found = [f"{number:,} {words}" for words, name in kinds.items() if (number := sum(getattr(r, name) for r in rows))]
    if found:
        notes.append(
            f"{len(rows):,} records, of these {' and '.join(found)}. The peer rule uses them; the rule paired does not."
        )
    return tuple(notes)


def _parted(rows: Sequence[_Measured], options: PeerOptions) -> tuple[str, ...]:
    """Say how many results have no speedup because a user's mark lies between them and each baseline."""
    measured = _by_moment(rows)
    baselines = _baselines(measured, options)
    number = sum(
        (row.model, row.batch_size) in baselines and _baseline_of(row, baselines) is None
        for by_backend in measured.values()
        for by_model in by_backend.values()
        for by_batch in by_model.values()
        for row in by_batch.values()
    )
    if not number:
        return ()
    have = f"{counted(number, 'result')} {'has' if number == 1 else 'have'}"
    return (f"{have} no speedup: a mark lies between the result and the baseline (`xlabench mark list`).",)


def titles(options: PeerOptions) -> tuple[str, ...]:
    """Return the backends as headers and legends name them."""
    return tuple(map(_title, options.backends))


def _title(backend: str) -> str:
    return _TITLES.get(backend, backend)


def _speedup_header(backend: str, options: PeerOptions, grid: bool) -> Column:  # noqa: FBT001 (private)
    parts = (_title(backend), options.baseline.capitalize(), _title(options.backends[0]))
    title = "Speedup\n{}\nover\n{}\n{}".format(*parts) if grid else "Speedup({}/{} {})".format(*parts)
    return _number(title)


def _number(title: str) -> Column:
    return Column(title=title, numeric=True)


def _rounded(point: Datapoint | None) -> tuple[float | None, float | None]:
    return (None, None) if point is None else (round(point.avg, _DECIMALS), round(point.std, _DECIMALS))


Built = tuple[list[Column], list[tuple[Cell, ...]]]


def _speedup(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """Return one row per timestamp: the geometric mean of each backend."""
    columns = [Column(title="Datetime(UTC)")]
    for backend in options.backends:
        columns += [_speedup_header(backend, options, grid), _number("StdDev")]
    rows: list[tuple[Cell, ...]] = []
    for moment, speedups in moments.items():
        if any(backend in speedups for backend in options.backends):
            points = [speedups[backend].geomean() if backend in speedups else None for backend in options.backends]
            rows.append((moment, *(cell for point in points for cell in _rounded(point))))
    return columns, rows


def _histogram(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """Return one row per timestamp at which the baseline's backend ran: percentiles of each backend's speedups."""
    gap = "\n" if grid else " "
    columns = [Column(title="Datetime(UTC)")]
    columns += [_number(f"{_title(backend)}{gap}p{p}") for backend in options.backends for p in _PERCENTILES]
    rows: list[tuple[Cell, ...]] = []
    for moment, speedups in moments.items():
        if options.backends[0] in speedups:
            cells = (
                round(speedups[backend].percentile(p), _DECIMALS) if backend in speedups else None
                for backend in options.backends
                for p in _PERCENTILES
            )
            rows.append((moment, *cells))
    return columns, rows


def _latest(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """Return one row per rank: each backend's newest speedups in ascending order, each with its model."""
    curves = [_newest(moments, backend) for backend in options.backends]
    if not any(curves):
        return [], []
    columns = [Column(title="Workload")]
    for backend in options.backends:
        name = f"ModelName\n{_title(backend)}" if grid else f"ModelName({_title(backend)})"
        columns += [_speedup_header(backend, options, grid), _number("StdDev"), Column(title=name)]
    rows: list[tuple[Cell, ...]] = []
    for rank in range(max(map(len, curves))):
        cells: list[Cell] = [rank]
        for curve in curves:
            cells += [*_rounded(curve[rank][0]), curve[rank][1]] if rank < len(curve) else [None, None, None]
        rows.append(tuple(cells))
    return columns, rows


def _newest(moments: Timeline, backend: str) -> list[tuple[Datapoint, str]]:
    for moment in reversed(moments):
        if backend in moments[moment]:
            speedups = moments[moment][backend]
            return sorted(zip(speedups.values, speedups.models, strict=True))
    return []


def _latest_grouped(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """Return one row per model at the newest timestamp, and their geometric mean last."""
    speedups = moments[list(moments)[-1]] if moments else {}
    by_backend = [
        dict(zip(speedups[backend].models, speedups[backend].values, strict=True)) if backend in speedups else {}
        for backend in options.backends
    ]
    models = sorted({model for values in by_backend for model in values}, key=str.casefold)
    if not models:
        return [], []
    columns = [Column(title="ModelName")]
    for backend in options.backends:
        columns += [_speedup_header(backend, options, grid), _number("StdDev")]
    rows: list[tuple[Cell, ...]] = [
        (model, *(cell for values in by_backend for cell in _rounded(values.get(model)))) for model in models
    ]
    means = [speedups[backend].geomean() if backend in speedups else None for backend in options.backends]
    rows.append(("GEOMEAN", *(cell for mean in means for cell in _rounded(mean))))
    return columns, rows


_BUILDERS: dict[str, Callable[[Timeline, PeerOptions, bool], Built]] = {
    "speedup": _speedup,
    "histogram": _histogram,
    "latest": _latest,
    "latest_grouped": _latest_grouped,
}
