"""How the speedups over the baseline moved: geometric means over the same models then and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.filters import Filters
from store.query import fetch, named, with_baseline
from store.report.table import Column, Table
from store.stats.geomean import geomean
from store.weekly.counts import order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.query import Connection
    from store.report.table import Cell
    from store.weekly.lanes import Lane

_COLUMNS = (
    *(Column(title=title) for title in ("accelerator", "test", "variant")),
    Column(title="n", numeric=True, definition="Results with a speedup in both runs: both means are over these."),
    Column(title="last", unit="x", digits=3, numeric=True, definition="Geometric mean of the previous run."),
    Column(title="now", unit="x", digits=3, numeric=True, definition="Geometric mean of this run."),
    Column(title="now / last", digits=3, numeric=True, definition="Geometric mean of the changes: above 1 is better."),
    Column(title="low", digits=3, numeric=True, definition="Lower end of its 95 % interval over models, from 3 on."),
    Column(title="high", digits=3, numeric=True, definition="Upper end of its 95 % interval over models, from 3 on."),
    Column(
        title="only now", numeric=True, definition="Results with a speedup only in this run: no mean includes them."
    ),
    Column(
        title="only last",
        numeric=True,
        definition="Results with a speedup only in the previous run: no mean includes them.",
    ),
)


def speedups_table(con: Connection, lanes: Sequence[Lane], baseline: str) -> Table:
    """Return one row per place, test and variant but the baseline."""
    rows = [row for lane in lanes for row in _rows(con, lane, baseline)]
    return Table(title=f"Speedup over {baseline}, the same models", columns=_COLUMNS, rows=tuple(rows))


def _rows(con: Connection, lane: Lane, baseline: str) -> list[tuple[Cell, ...]]:
    parameters = with_baseline(Filters(run=tuple(lane.runs), accelerator=(lane.accelerator,)), baseline, None)
    found: dict[tuple[str, str], dict[tuple[Any, ...], dict[str, float]]] = {}
    for row in fetch(con, named("speedups"), parameters):
        if row["speedup"] is not None and row["speedup"] > 0 and row["variant"] != row["baseline_variant"]:
            by_key = found.setdefault((row["test"], row["variant"]), {})
            by_key.setdefault((row["experiment_id"], row["environment"]), {})[row["run_id"]] = row["speedup"]
    return [
        (lane.name, *key, *_numbers(lane, list(found[key].values())))
        for key in sorted(found, key=lambda key: (key[0], order(key[1])))
    ]


def _numbers(lane: Lane, sides: Sequence[dict[str, float]]) -> tuple[Cell, ...]:
    now, last = lane.now.run_id, lane.last.run_id if lane.last else ""
    both = [side for side in sides if now in side and last in side]
    only_now, only_last = (sum(run in side and len(side) == 1 for side in sides) for run in (now, last))
    if not both:
        return (0, None, None, None, None, None, only_now, only_last)
    before, after = (geomean([side[run] for side in both]) for run in (last, now))
    change = geomean([side[now] / side[last] for side in both])
    assert before and after and change  # noqa: S101, PT018 (there are ratios)
    return (len(both), before.value, after.value, change.value, change.low, change.high, only_now, only_last)
