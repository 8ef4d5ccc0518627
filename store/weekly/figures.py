"""The charts of the review: what passed over the last runs, how speedups went, what moved."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from store.filters import Filters
from store.query import fetch, named, with_baseline
from store.report.colours import colour
from store.report.html import Figure
from store.weekly import svg
from store.weekly.counts import order
from store.weekly.speed import CONFIRMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from store.query import Connection
    from store.weekly.lanes import Lane
    from store.weekly.results import Row
    from store.weekly.speed import Change, Speed

_MOST = 24
"""Changes that a chart shows; the table has all."""


def figures(con: Connection, lanes: Sequence[Lane], speed: Speed, baseline: str) -> tuple[Figure, ...]:
    """Return the charts; one of a single run or of nothing is left out."""
    found = [_changes(speed.changes)] if speed.changes else []
    for lane in lanes:
        if len(lane.history) > 1:
            found += [*_passing(con, lane), *_speedups(con, lane, baseline)]
    return tuple(found)


def _passing(con: Connection, lane: Lane) -> list[Figure]:
    parameters = {"runs": [run.run_id for run in lane.history], "accelerator": lane.accelerator}
    rows = fetch(con, named("weekly_history"), parameters)
    made = []
    for (test,), ours in _grouped(rows, "test").items():
        most = max(row["planned_n"] for row in ours)
        title = f"Passing, {test}, {lane.name}"
        drawn = svg.lines(title, _days(lane), _lines(lane, ours, "passed_n"), whole=True)
        made.append(Figure(title, f"Experiments of {most} planned with each variant, over the last runs", drawn))
    return made


def _speedups(con: Connection, lane: Lane, baseline: str) -> list[Figure]:
    chosen = Filters(run=tuple(run.run_id for run in lane.history), accelerator=(lane.accelerator,))
    rows = fetch(con, named("geomeans"), with_baseline(chosen, baseline, None))
    rows = [row for row in rows if row["variant"] != baseline and row["geomean"] is not None]
    made = []
    several = len({row["suite"] for row in rows}) > 1
    for (test, suite), ours in _grouped(rows, "test", "suite").items():
        title = ", ".join([f"Speedup over {baseline}", test, *([suite] if several else []), lane.name])
        counts = sorted({row["n"] for row in ours})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        models = "the one paired model" if n == "1" else f"the {n} paired models"
        drawn = svg.lines(title, _days(lane), _lines(lane, ours, "geomean"), log=True)
        made.append(Figure(title, f"Geometric mean over {models} of each run; log scale", drawn))
    return made


def _grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(str(row[name]) for name in names)].append(row)
    return dict(sorted(found.items()))


def _days(lane: Lane) -> list[str]:
    return [f"{run.started:%m-%d}" for run in lane.history]


def _lines(lane: Lane, rows: Sequence[Row], column: str) -> list[svg.Line]:
    """Return one line per variant, and environment where a variant has several."""
    names = [name for name in ("environment",) if len({row.get(name) for row in rows}) > 1]
    series: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    backends = {}
    for row in rows:
        key = (str(row["variant"]), *(str(row[name]) for name in names))
        series[key][row["run_id"]] = float(row[column])
        backends[key] = str(row["backend"])
    found: list[svg.Line] = []
    for key in sorted(series, key=lambda key: (order(key[0]), key)):
        tone = colour(backends[key])
        points = [series[key].get(run.run_id) for run in lane.history]
        found.append(svg.Line(" ".join(key), tone, points, sum(line.colour == tone for line in found)))
    return found


def _changes(changes: Sequence[Change]) -> Figure:
    known = [each for each in changes if None not in (each.shown.verdict.low, each.shown.verdict.high)]
    shown = known[:_MOST]
    left = f"; the first {_MOST} of {len(known)}" if len(known) > _MOST else ""
    title = "Slower and faster: last time / time now"
    caption = f"Left of 1 is slower; intervals; filled dots are confirmed, hollow ones suspected{left}"
    return Figure(title, caption, svg.ratios(title, [_ratio(each) for each in shown]), wide=True)


def _ratio(change: Change) -> svg.Ratio:
    cell, verdict = change.before, change.shown.verdict
    low, value, high = verdict.low or 1.0, verdict.ratio or 1.0, verdict.high or 1.0
    tone = "bad" if change.word == "slower" else "good"
    name = f"{cell.model} {cell.test} {cell.variant}"
    return svg.Ratio(name, low, value, high, tone, change.certainty == CONFIRMED)
