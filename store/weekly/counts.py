"""How many experiments pass beside last time's count, and how the speedups over the baseline moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from store.query import Connection, Filters, fetch, named, with_baseline
from store.report.table import Cell, Column, Table, distinguishing_columns, text_columns
from store.stats.geomean import geomean
from store.weekly.lanes import FAILED, PASSED, Key, Lane, LaneSides, Row

_SETTINGS = (
    *("suite", "environment", "dtype", "requested_batch_size", "optimizer", "loss", "matmul_precision", "workload"),
)
"""Settings in which the results of one mean must agree, apart from test and variant."""
_COLUMNS = (
    Column(
        title="n",
        numeric=True,
        definition="Results behind the means: with a speedup in both runs, or in this run if it is the first.",
    ),
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
    Column(
        title="measured differently",
        numeric=True,
        definition="Results with a speedup in both runs, but with other threads, batch sizes, iterations per block or "
        "starts, on another machine, or parted by a mark: no mean includes them.",
    ),
)


def speedups_table(con: Connection, lanes: Iterable[LaneSides], baseline: str) -> Table:
    """Return one row per place, test, variant but the baseline, and each setting in which results differ."""
    means = [(sides.lane, series) for sides in lanes for series in _speedups(con, sides, baseline)]
    extra = distinguishing_columns([dict(of) for _, (of, _) in means], _SETTINGS)
    rows = [
        (lane.name, of["test"], of["variant"], *(of[name] for name in extra), *_numbers(lane, pairs))
        for lane, (of, pairs) in means
    ]
    columns = (*text_columns("accelerator", "test", "variant", *extra), *_COLUMNS)
    return Table(title=f"Speedup over {baseline}, the same models", columns=columns, rows=tuple(rows))


def _speedups(con: Connection, sides: LaneSides, baseline: str) -> list[tuple[Row, list[dict[str, Row]]]]:
    """Return each series without its model, and the rows of its results by run."""
    lane, of_now, of_last = sides.lane, *sides.keys()
    keys = of_now | of_last
    parameters = with_baseline(Filters(run=tuple(lane.runs), accelerator=(lane.accelerator,)), baseline, None)
    results: dict[tuple[Cell, ...], tuple[Row, dict[Key, dict[str, Row]]]] = {}
    for row in fetch(con, named("weekly_speedups"), parameters):
        key = keys[row["run_id"], row["experiment_id"], row["environment"]]
        of = {name: row[name] for name in ("test", "variant", *_SETTINGS)} | {"environment": key[1]}
        _, by_key = results.setdefault(tuple(of.values()), (of, {}))
        by_key.setdefault(key, {})[row["run_id"]] = row
    place = {values: (of["test"], order(of["variant"]), *map(str, values)) for values, (of, _) in results.items()}
    return [
        (results[values][0], list(results[values][1].values())) for values in sorted(results, key=place.__getitem__)
    ]


def _numbers(lane: Lane, sides: Sequence[dict[str, Row]]) -> tuple[Cell, ...]:
    now = lane.now.run_id
    if lane.last is None:
        mean = geomean([side[now]["speedup"] for side in sides])
        return (len(sides), None, mean and mean.value, None, None, None, 0, 0, 0)
    last = lane.last.run_id
    both = [(side[last], side[now]) for side in sides if now in side and last in side]
    pairs = [(old["speedup"], new["speedup"]) for old, new in both if _alike(old, new)]
    only_now, only_last = (sum(run in side and len(side) == 1 for side in sides) for run in (now, last))
    left_out = (only_now, only_last, len(both) - len(pairs))
    if not pairs:
        return (0, None, None, None, None, None, *left_out)
    before, after = (geomean(side) for side in zip(*pairs, strict=True))
    change = geomean([new / old for old, new in pairs])
    assert before and after and change  # noqa: S101, PT018 (there are ratios)
    return (len(pairs), before.value, after.value, change.value, change.low, change.high, *left_out)


def _alike(old: Row, new: Row) -> bool:
    """Tell whether two results were measured alike, as macro `other_policy` has it for how their threads waited."""
    known = [row["policy"] for row in (old, new) if row["policy"] is not None]
    alike = len(set(known)) <= 1 and (len(known) != 1 or "=" not in known[0])
    return bool(old["measured"] == new["measured"] and alike)


_CLASSES = ("load_error", "compile_error", "run_error", "oom", "timeout", "crashed", "invalid")
_TITLES = {
    "load_error": "load error",
    "compile_error": "compile error",
    "run_error": "run error",
    "oom": "out of memory",
}
_ORDER = ("inductor", "openxla+lazytensor", "openxla+dynamo", "eager")


def order(variant: str) -> tuple[int, str]:
    """Sort variants as people read them: inductor, lazy tensors, dynamo, eager, then others by name."""
    backend = variant.split(" ", maxsplit=1)[0]
    return (_ORDER.index(backend) if backend in _ORDER else len(_ORDER), variant)


def passing_table(sides: LaneSides) -> Table:
    """Return the counts of a lane: one row per variant, one column per test, each cell with last time's count."""
    now, last = (_named(side) for side in (sides.now, sides.last))
    rows = [*now, *last]
    extra = distinguishing_columns(rows, ("suite", "environment"))
    tests = sorted({str(row["test"]) for row in rows})
    body = []
    for key in sorted({_key(row, extra) for row in rows}, key=lambda key: (key[:-1], order(str(key[-1])))):
        cells = (_cell(now, last, test, extra, key) for test in tests)
        body.append((*key, *cells))
    columns = list(text_columns(*extra, "variant"))
    definition = "Planned experiments that finished without a wrong answer; last: in the previous run."
    columns += [Column(title=test, definition=definition) for test in tests]
    return Table(title=f"Passing on {_place(sides)}", columns=tuple(columns), rows=tuple(body))


def _place(sides: LaneSides) -> str:
    lane = sides.lane
    return f"{lane.name} ({lane.host})" if lane.host else lane.name


def _key(row: Row, extra: Sequence[str]) -> tuple[str, ...]:
    return (*(str(row[name]) for name in extra), str(row["variant"]))


def _named(side: Mapping[Key, Row]) -> list[Row]:
    """Return the results under the environment that they are compared in, which may be called differently now."""
    return [row | {"environment": environment} for (_, environment), row in side.items()]


def _cell(
    of_now: Sequence[Row], of_last: Sequence[Row], test: str, extra: Sequence[str], key: tuple[str, ...]
) -> str | None:
    now, last = ([row for row in rows if row["test"] == test and _key(row, extra) == key] for rows in (of_now, of_last))
    if not now and not last:
        return None
    return f"{_passed(now)} (last: {_passed(last)})"


def _passed(rows: Sequence[Row]) -> str:
    """Return `5/6`; `?` where nothing was planned: never 0 for what was not asked."""
    return f"{sum(row['outcome'] == PASSED for row in rows)}/{len(rows)}" if rows else "?"


def rates_table(lanes: Iterable[LaneSides]) -> Table:
    """Return what became of the plan: one row per place, test and variant, with each class of failure that occurred."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for sides in lanes:
        for row in sides.now.values():
            key = (_place(sides), str(row["test"]), str(row["variant"]))
            groups.setdefault(key, []).append(row)
    keys = sorted(groups, key=lambda key: (key[:-1], order(key[-1])))
    met = {row["status"] for rows in groups.values() for row in rows}
    classes = [name for name in (*_CLASSES, "never_steady", "disturbed", "skipped", "not_run") if name in met]
    counts = ["planned", "ran", "verified", "failed", *classes]
    texts = list(text_columns("accelerator", "test", "variant"))
    titles = {name: _TITLES.get(name, name.replace("_", " ")) for name in counts}
    columns = [Column(title=title, numeric=name != "verified") for name, title in titles.items()]
    rows = [(*key, *_counts(groups[key], classes)) for key in keys]
    return Table(title="Outcome of the plan", columns=(*texts, *columns), rows=tuple(rows))


def _counts(rows: Sequence[Row], classes: Sequence[str]) -> tuple[Cell, ...]:
    status: Counter[Any] = Counter(row["status"] for row in rows)
    return (
        len(rows),
        sum(bool(row["ran"]) for row in rows),
        _verified(rows),
        sum(row["outcome"] == FAILED for row in rows),
        *(status[name] for name in classes),
    )


def _verified(rows: Sequence[Row]) -> str:
    asked = [row for row in rows if row["verification_code"] in ("PASS", "FAIL")]
    if not asked:
        return "not verified"
    later_n = sum(row["verification_run_id"] is not None for row in asked)
    later = f" ({later_n} by a later run)" if later_n else ""
    return f"{sum(row['verification_code'] == 'PASS' for row in asked)}/{len(asked)}{later}"
