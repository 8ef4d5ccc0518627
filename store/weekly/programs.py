"""What changed in the compiled programs: ops that fall back newly or no longer, graphs, breaks, fusions."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from store.query import fetch, named
from store.report.table import Column, Table
from store.weekly.results import PASSED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection
    from store.report.table import Cell
    from store.weekly.results import Sides

_FALLBACKS = (
    *(Column(title=title) for title in ("change", "op", "class", "accelerator", "test", "variant")),
    Column(title="models now", numeric=True, definition="Models that call it, of those that passed both times."),
    Column(title="models last", numeric=True, definition="The same of the run before."),
    Column(title="of", numeric=True, definition="Models that passed both times with this variant and test."),
    Column(title="newly in"),
    Column(title="no longer in"),
)
_STRUCTURE = (
    *(Column(title=title) for title in ("accelerator", "suite", "model", "test", "variant", "what")),
    Column(title="last", numeric=True, digits=0),
    Column(title="now", numeric=True, digits=0),
)
_PROGRAMS = (
    *(Column(title=title) for title in ("accelerator", "test", "variant", "programs")),
    Column(title="results", numeric=True, definition="Results whose programs both runs know and that differ."),
    Column(title="of", numeric=True, definition="Results that passed both times."),
)


def fallback_table(con: Connection, lanes: Iterable[Sides]) -> Table:
    """Return one row per op, test and variant that falls back in other models than last time."""
    rows: list[tuple[Cell, ...]] = []
    for sides in lanes:
        both = set(sides.both(PASSED))
        of = Counter((row["test"], row["variant"]) for key, row in sides.now.items() if key in both)
        models: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        parameters = {"runs": sides.lane.runs, "accelerator": sides.lane.accelerator}
        for row in fetch(con, named("weekly_fallbacks"), parameters):
            if (row["experiment_id"], row["environment"]) in both:
                models[row["op"], row["klass"], row["test"], row["variant"]][row["run_id"]].add(row["model"])
        for (op, klass, test, variant), found in models.items():
            now, last = (found[run.run_id] if run else set() for run in (sides.lane.now, sides.lane.last))
            if now != last:
                lists = (", ".join(sorted(now - last)), ", ".join(sorted(last - now)))
                counts = (len(now), len(last), of[test, variant])
                rows.append((_change(now, last), op, klass, sides.lane.name, test, variant, *counts, *lists))
    rows.sort(key=lambda row: (_CHANGES.index(str(row[0])), str(row[1]), *map(str, row[3:6])))
    return Table(title="Fallback ops", columns=_FALLBACKS, rows=tuple(rows))


_CHANGES = ("new", "in more models", "in other models", "in fewer models", "gone")


def _change(now: set[str], last: set[str]) -> str:
    if not last:
        return "new"
    if not now:
        return "gone"
    if len(now) == len(last):
        return "in other models"
    return "in more models" if len(now) > len(last) else "in fewer models"


def structure_tables(con: Connection, lanes: Iterable[Sides]) -> tuple[Table, Table]:
    """Return each number of graphs, ops, fusions or breaks that changed, and how many results have other programs."""
    numbers: list[tuple[Cell, ...]] = []
    programs: Counter[tuple[str, ...]] = Counter()
    sizes: Counter[tuple[str, ...]] = Counter()
    for sides in lanes:
        lane, both = sides.lane, sides.both(PASSED)
        if lane.last is None:
            continue
        sizes.update((lane.name, sides.now[key]["test"], sides.now[key]["variant"]) for key in both)
        numbers += [row for key in both for row in _breaks(sides, key)]
        parameters = {"last": lane.last.run_id, "now": lane.now.run_id, "accelerator": lane.accelerator}
        for row in fetch(con, named("weekly_structure"), parameters):
            programs[lane.name, row["test"], row["variant"], row["kind"]] += 1
            what = (lane.name, row["suite"], row["model"], row["test"], row["variant"])
            numbers += [
                (*what, f"{row['kind']} {name}", row[f"{name}_a"], row[f"{name}_b"])
                for name in ("graphs", "ops", "fusions")
                if row[f"{name}_a"] != row[f"{name}_b"]
            ]
    counted: list[tuple[Cell, ...]] = [(*key, count, sizes[key[:3]]) for key, count in sorted(programs.items())]
    return (
        Table(
            title="Structural changes",
            columns=_STRUCTURE,
            rows=tuple(sorted(numbers, key=lambda row: tuple(map(str, row[:6])))),
        ),
        Table(title="Results with other programs", columns=_PROGRAMS, rows=tuple(counted)),
    )


def _breaks(sides: Sides, key: tuple[str, str]) -> list[tuple[Cell, ...]]:
    now, last = sides.now[key], sides.last[key]
    what = (sides.lane.name, now["suite"], now["model"], now["test"], now["variant"])
    names = {"graphs_number": "compiled graphs", "graph_breaks_n": "graph breaks"}
    return [
        (*what, title, last[name], now[name])
        for name, title in names.items()
        if None not in (last[name], now[name]) and last[name] != now[name]
    ]
