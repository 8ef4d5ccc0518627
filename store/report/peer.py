"""The reports of PyTorch/XLA's aggregator: the same numbers, to 8 decimals, in the same layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.report.peer_data import PeerOptions, Speedups, timeline
from store.report.table import Cell, Column, Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from store.query import Connection
    from store.stats.peer import Datapoint

    Timeline = dict[datetime, dict[str, Speedups]]

__all__ = ["PeerOptions", "peer_report"]

_TITLES = {
    "eager": "Eager",
    "inductor": "Inductor",
    "openxla+dynamo": "XLA+Dynamo",
    "openxla+lazytensor": "XLA+LazyTensor",
}
_PERCENTILES = (95, 50, 5)
_DECIMALS = 8


def peer_report(con: Connection, options: PeerOptions, *, grid: bool = False) -> Report:
    """Return one of the peer's four reports; `grid` breaks headers into lines as its `--format=tab` does.

    Raises:
        UsageError: see `store.report.peer_data.timeline`.
    """
    moments = timeline(con, options)
    columns, rows = _BUILDERS[options.kind](moments, options, grid)
    title = f"Speedup over {options.baseline} {options.backends[0]}, peer rule"
    notes = () if rows else (f"no data for accelerator {options.accelerator or 'any'}",)
    table = Table(title=title, columns=tuple(columns), rows=tuple(rows))
    return Report(title=title, tables=(table,) if columns else (), notes=notes)


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
    """One row per timestamp: the geometric mean of each backend."""
    columns = [Column(title="Datetime(UTC)")]
    for backend in options.backends:
        columns += [_speedup_header(backend, options, grid), _number("StdDev")]
    rows: list[tuple[Cell, ...]] = []
    for moment, found in moments.items():
        if any(backend in found for backend in options.backends):
            points = [found[backend].geomean() if backend in found else None for backend in options.backends]
            rows.append((moment, *(cell for point in points for cell in _rounded(point))))
    return columns, rows


def _histogram(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """One row per timestamp at which the baseline's backend ran: percentiles of each backend's speedups."""
    gap = "\n" if grid else " "
    columns = [Column(title="Datetime(UTC)")]
    columns += [_number(f"{_title(backend)}{gap}p{p}") for backend in options.backends for p in _PERCENTILES]
    rows: list[tuple[Cell, ...]] = []
    for moment, found in moments.items():
        if options.backends[0] in found:
            cells = (
                round(found[backend].percentile(p), _DECIMALS) if backend in found else None
                for backend in options.backends
                for p in _PERCENTILES
            )
            rows.append((moment, *cells))
    return columns, rows


def _latest(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """One row per rank: each backend's newest speedups in ascending order, each with its model."""
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
            found = moments[moment][backend]
            return sorted(zip(found.values, found.models, strict=True))
    return []


def _latest_grouped(moments: Timeline, options: PeerOptions, grid: bool) -> Built:  # noqa: FBT001
    """One row per model at the newest timestamp, and their geometric mean last."""
    found = moments[list(moments)[-1]] if moments else {}
    by_backend = [
        dict(zip(found[backend].models, found[backend].values, strict=True)) if backend in found else {}
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
    means = [found[backend].geomean() if backend in found else None for backend in options.backends]
    rows.append(("GEOMEAN", *(cell for mean in means for cell in _rounded(mean))))
    return columns, rows


_BUILDERS: dict[str, Callable[[Timeline, PeerOptions, bool], Built]] = {
    "speedup": _speedup,
    "histogram": _histogram,
    "latest": _latest,
    "latest_grouped": _latest_grouped,
}
