"""The charts of the review, as pages draw them: what passed over the last runs, how speedups went, what moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from store.compare import row_names
from store.query import Connection, Filters, fetch, named, with_baseline
from store.report.render import Figure
from store.weekly.lanes import Lane, Row
from store.weekly.speed import CONFIRMED, Speed, SpeedChange

if TYPE_CHECKING:
    from store.charts.drawing import Drawing
    from store.charts.history import Kind


_HEIGHT_PX = 250
_SETTINGS = (
    *("accelerator_model", "machine_id", "environment", "dtype", "requested_batch_size", "optimizer", "loss"),
    *("matmul_precision", "workload"),
)
"""Settings of a mean beside its variant."""
_MOST = 24
"""Changes that a chart shows; the table has all."""


def figures(con: Connection, lanes: Sequence[Lane], speed: Speed, baseline: str) -> tuple[Figure, ...]:
    """Return the charts; one of a single run or of nothing is left out."""
    charts = [_changes(speed.changes)] if speed.changes else []
    for lane in lanes:
        if len(lane.history) > 1:
            charts += [*_passing(con, lane), *_speedups(con, lane, baseline)]
    return tuple(charts)


def _passing(con: Connection, lane: Lane) -> list[Figure]:
    parameters = {"runs": [run.run_id for run in lane.history], "accelerator": lane.accelerator}
    rows = fetch(con, named("weekly_history"), parameters)
    made = []
    for (test,), ours in _grouped(rows, "test").items():
        least, most = (end(row["planned_n"] for row in ours) for end in (min, max))
        planned = f"{most}" if least == most else f"{least} to {most}"
        title = f"Passing, {test}, {lane.name}"
        drawn = partial(_lines, lane, ours, "passed_n", "Passed", "whole")
        made.append(Figure(title, f"Experiments of {planned} planned with each variant, over the last runs", drawn))
    return made


def _speedups(con: Connection, lane: Lane, baseline: str) -> list[Figure]:
    chosen = Filters(run=tuple(run.run_id for run in lane.history), accelerator=(lane.accelerator,))
    parameters = with_baseline(chosen, baseline, None)
    stepped = {_series(row) for row in fetch(con, named("weekly_steps"), parameters)}
    rows = [
        row | {"step": _series(row) in stepped}
        for row in fetch(con, named("geomeans"), parameters)
        if row["variant"] != baseline and row["geomean"] is not None
    ]
    made = []
    several = len({row["suite"] for row in rows}) > 1
    for (test, suite), ours in _grouped(rows, "test", "suite").items():
        title = ", ".join([f"Speedup over {baseline}", test, *([suite] if several else []), lane.name])
        over = paired_models([row["n"] for row in ours], suite)
        drawn = partial(_lines, lane, ours, "geomean", f"Speedup over {baseline}", "ratio")
        hollow = any(row["step"] for row in ours)
        step = "; hollow: over other models than the point before, or measured differently" if hollow else ""
        made.append(Figure(title, f"Geometric mean over {over} of each run; log scale{step}", drawn))
    return made


def _series(row: Row) -> tuple[object, ...]:
    """Return the run and the series of a mean."""
    return tuple(row[name] for name in ("run_id", "suite", "test", "accelerator", "variant", *_SETTINGS))


def paired_models(counts: Sequence[int], suite: str) -> str:
    """Return what means of several runs are over, such as `the 3 to 4 paired models`."""
    unit = "operator" if suite == "operators" else "model"
    least, most = min(counts), max(counts)
    if most == 1:
        return f"the one paired {unit}"
    return f"the {most} paired {unit}s" if least == most else f"the {least} to {most} paired {unit}s"


def _grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(str(row[name]) for name in names)].append(row)
    return dict(sorted(groups.items()))


def _lines(lane: Lane, rows: Sequence[Row], column: str, title: str, kind: Kind) -> Drawing:
    """Return one line per series: a variant, and each setting in which these differ."""
    import pandas as pd  # noqa: PLC0415 (the other formats draw nothing)

    from store.charts import history  # noqa: PLC0415 (the extra `plots`)

    started = {run.run_id: run.started for run in lane.history}
    distinguishing = [name for name in _SETTINGS if len({row.get(name) for row in rows}) > 1]
    points = [
        {
            "started": started[row["run_id"]],
            "variant": " ".join(
                [row["variant"], *(str(row[name]) for name in distinguishing if row[name] is not None)]
            ),
            "backend": row["backend"],
            "value": row[column],
            "step": row.get("step", False),
            **{end: row.get(f"{column}_{end}") for end in ("low", "high")},
        }
        for row in rows
    ]
    frame = pd.DataFrame(points).astype(dict.fromkeys(("value", "low", "high"), float))
    return history.lines(frame, title, kind=kind, height=_HEIGHT_PX)


def _changes(changes: Sequence[SpeedChange]) -> Figure:
    bounded = [change for change in changes if None not in (change.shown.verdict.low, change.shown.verdict.high)]
    left = f"; the first {_MOST} of {len(bounded)}" if len(bounded) > _MOST else ""
    caption = f"Left of 1 is slower; intervals; filled marks are confirmed, hollow ones suspected{left}"
    return Figure("Slower and faster: last time / time now", caption, partial(_dots, bounded[:_MOST]), wide=True)


def _dots(changes: Sequence[SpeedChange]) -> Drawing:
    import pandas as pd  # noqa: PLC0415 (as above)

    from store.charts.ratios import change_dots  # noqa: PLC0415 (as above)

    names = row_names([change.before for change in changes])
    frame = pd.DataFrame(map(_dot, changes)).assign(name=names)
    return change_dots(frame, names, "Last time / time now (log scale)")


def _dot(change: SpeedChange) -> dict[str, object]:
    verdict = change.shown.verdict
    ends = {"low": verdict.low, "value": verdict.ratio, "high": verdict.high}
    return {"word": change.word, "certain": change.certainty == CONFIRMED, "label": "", **ends}
