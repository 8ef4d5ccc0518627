"""What changed in the compiled programs: ops that fall back newly or no longer, graphs, breaks, fusions."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import msgspec

from store.query import fetch, named
from store.report.table import Column, Table
from store.weekly.results import PASSED, Key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection
    from store.report.table import Cell
    from store.weekly.results import Sides

_FALLBACKS = (
    *(Column(title=title) for title in ("change", "op", "class", "accelerator", "test", "variant")),
    Column(title="models now", numeric=True, definition="Models that call it, among those that passed in both runs."),
    Column(title="models last", numeric=True, definition="The same in the previous run."),
    Column(title="of", numeric=True, definition="Models that passed in both runs with this variant and test."),
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
    Column(title="results", numeric=True, definition="Results whose programs are known in both runs and differ."),
    Column(title="of", numeric=True, definition="Results that passed in both runs."),
)


class FallbackChange(msgspec.Struct, frozen=True, kw_only=True):
    """An op that falls back in other models than last time, of those that passed both times."""

    change: str
    op: str
    klass: str
    place: str
    accelerator: str
    test: str
    variant: str
    now: frozenset[str]
    last: frozenset[str]
    of: int
    """Models that passed in both runs with this variant and test."""


def fallback_changes(con: Connection, lanes: Iterable[Sides]) -> list[FallbackChange]:
    """Return what changed: one per op, test and variant."""
    found: list[FallbackChange] = []
    for sides in lanes:
        both = set(sides.both(PASSED))
        of = Counter((row["test"], row["variant"]) for key, row in sides.now.items() if key in both)
        for (op, klass, test, variant), (now, last) in _falling_back(con, sides, both).items():
            if now != last:
                found.append(
                    FallbackChange(
                        change=_change(now, last),
                        op=op,
                        klass=klass,
                        place=sides.lane.name,
                        accelerator=sides.lane.accelerator,
                        test=test,
                        variant=variant,
                        now=frozenset(now),
                        last=frozenset(last),
                        of=of[test, variant],
                    )
                )
    return sorted(found, key=lambda each: (_CHANGES.index(each.change), each.op, each.place, each.test, each.variant))


def _falling_back(con: Connection, sides: Sides, both: set[Key]) -> dict[tuple[str, ...], tuple[set[str], set[str]]]:
    """Return the models now and last by op, class, test and variant."""
    keys = sides.keys()
    models: dict[tuple[str, ...], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    parameters = {"runs": sides.lane.runs, "accelerator": sides.lane.accelerator}
    for row in fetch(con, named("weekly_fallbacks"), parameters):
        for side, known in enumerate(keys):
            key = known.get((row["run_id"], row["experiment_id"], row["environment"]))
            if key in both and key is not None:
                of = sides.now[key]
                models[row["op"], row["klass"], of["test"], of["variant"]][side].add(row["model"])
    return models


def fallback_table(found: Iterable[FallbackChange]) -> Table:
    """Return one row per change."""
    return Table(title="Fallback ops", columns=_FALLBACKS, rows=tuple(map(_row, found)))


def _row(each: FallbackChange) -> tuple[Cell, ...]:
    what = (each.change, each.op, each.klass, each.place, each.test, each.variant)
    lists = (", ".join(sorted(names)) for names in (each.now - each.last, each.last - each.now))
    return (*what, len(each.now), len(each.last), each.of, *lists)


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


def _breaks(sides: Sides, key: Key) -> list[tuple[Cell, ...]]:
    now, last = sides.now[key], sides.last[key]
    what = (sides.lane.name, now["suite"], now["model"], now["test"], now["variant"])
    names = {"graphs_number": "compiled graphs", "graph_breaks_n": "graph breaks"}
    return [
        (*what, title, last[name], now[name])
        for name, title in names.items()
        if None not in (last[name], now[name]) and last[name] != now[name]
    ]
