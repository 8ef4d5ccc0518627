"""What was installed then and now, and what changed in the compiled programs: fallback ops, graphs, breaks, fusions."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from store.identity import Model, model_names
from store.query import Connection, fetch, named
from store.record.experiment import VERSIONS
from store.report.table import Cell, Column, Table, text_columns
from store.weekly.lanes import PASSED, Key, Lane, LaneSides

_OTHERS = ("torchax", "jax", "python", "driver", "cpu", "accelerator", "threads", "host")
_SHOWN = ("torch", "torch_xla", "transformers", "torchbench_commit")
"""Stand in the table also where they are equal: the pins of the review."""
_COMMITS = {"torch": "torch_git", "torch_xla": "torch_xla_git"}
"""Where a package's commit is, which says more than its version."""
_REPOSITORIES = {
    "torch": "pytorch/pytorch",
    "torch_xla": "pytorch/xla",
    "torchvision": "pytorch/vision",
    "transformers": "huggingface/transformers",
    "torchbench_commit": "pytorch/benchmark",
}
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_SHORT = 12
_RELEASE = re.compile(r"(\d+\.\d+(?:\.\d+)*)(?:\+[\w.]+)?")
_COLUMNS = (
    *text_columns("accelerator", "environment", "what", "last", "now"),
    Column(title="changes", link=True),
)


def versions_table(con: Connection, lanes: Iterable[Lane]) -> Table:
    """Return one row per package or fact that matters or differs, with a link to the commits between."""
    rows: list[tuple[Cell, ...]] = []
    for lane in lanes:
        known: dict[str, dict[str, dict[str, Any]]] = {run: {} for run in lane.runs}
        for row in fetch(con, named("weekly_environments"), {"runs": lane.runs}):
            known[row["run_id"]][row["environment"]] = json.loads(row["facts"])
        now, last = known[lane.now.run_id], known[lane.last.run_id] if lane.last else {}
        for name, after in sorted(now.items()):
            rows += [(lane.name, name, *row) for row in _rows(_facts_before(now, last, name), after)]
    return Table(title="Versions", columns=_COLUMNS, rows=tuple(rows))


def _facts_before(now: dict[str, Any], last: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the facts of an environment in the last run; where each run has a single one, of that one."""
    if len(now) == len(last) == 1:
        (only,) = last.values()
        return only
    return last.get(name, {})


def _rows(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for name in (*(version for version in VERSIONS if version not in _COMMITS.values()), *_OTHERS):
        old, new = _pin(before, name), _pin(after, name)
        if (name in _SHOWN and (old or new)) or (before and old != new):
            rows.append((name.replace("_commit", ""), old, new, compare_link(name, before, after)))
    return rows


def _pin(facts: dict[str, Any], name: str) -> str | None:
    """Return version and commit as one."""
    value, commit = facts.get(name), str(facts.get(_COMMITS.get(name, "")) or "")
    if value is None:
        return None
    shown = str(value)[:_SHORT] if _COMMIT.fullmatch(str(value)) else str(value)
    return f"{shown} ({commit[:_SHORT]})" if commit else shown


def compare_link(name: str, before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the page with the commits between; None where both are equal, or one names no commit and no release."""
    ends = [_revision(name, facts) for facts in (before, after)]
    if name not in _REPOSITORIES or None in ends or ends[0] == ends[1]:
        return None
    return f"https://github.com/{_REPOSITORIES[name]}/compare/{ends[0]}...{ends[1]}"


def _revision(name: str, facts: dict[str, Any]) -> str | None:
    """Return a commit, or the tag of a release; a nightly build without its commit has neither."""
    commit = str(facts.get(_COMMITS.get(name, name)) or "")
    if _COMMIT.fullmatch(commit):
        return commit[:_SHORT]
    release = _RELEASE.fullmatch(str(facts.get(name) or ""))
    return f"v{release[1]}" if release else None


_FALLBACKS = (
    *text_columns("change", "op", "class", "accelerator", "test", "variant"),
    Column(title="models now", numeric=True, definition="Models that call it, among those that passed in both runs."),
    Column(title="models last", numeric=True, definition="The same in the previous run."),
    Column(title="of", numeric=True, definition="Models that passed in both runs with this variant and test."),
    *text_columns("newly in", "no longer in"),
)
_STRUCTURE = (
    *text_columns("accelerator", "suite", "model", "test", "variant", "what"),
    Column(title="last", numeric=True, digits=0),
    Column(title="now", numeric=True, digits=0),
)
_PROGRAMS = (
    *text_columns("accelerator", "test", "variant", "programs"),
    Column(
        title="results", numeric=True, definition="Of those, results whose programs are known in both runs and differ."
    ),
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
    now: frozenset[Model]
    last: frozenset[Model]
    of: int
    """Models that passed in both runs with this variant and test."""


def fallback_changes(con: Connection, lanes: Iterable[LaneSides]) -> list[FallbackChange]:
    """Return what changed: one per op, test and variant."""
    changes: list[FallbackChange] = []
    for sides in lanes:
        both = set(sides.both(PASSED))
        rows = (sides.now[key] for key in both)
        passed = {(row["test"], row["variant"], row["suite"], row["model"]) for row in rows}
        of = Counter(names[:2] for names in passed)
        for (op, klass, test, variant), (now, last) in _falling_back(con, sides, both).items():
            if now != last:
                changes.append(
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
    return sorted(
        changes,
        key=lambda change: (_CHANGES.index(change.change), change.op, change.place, change.test, change.variant),
    )


def _falling_back(
    con: Connection, sides: LaneSides, both: set[Key]
) -> dict[tuple[str, ...], tuple[set[Model], set[Model]]]:
    """Return the models now and last by op, class, test and variant."""
    keys = sides.keys()
    models: dict[tuple[str, ...], tuple[set[Model], set[Model]]] = defaultdict(lambda: (set(), set()))
    parameters = {"runs": sides.lane.runs, "accelerator": sides.lane.accelerator}
    for row in fetch(con, named("weekly_fallbacks"), parameters):
        for side, known in enumerate(keys):
            key = known.get((row["run_id"], row["experiment_id"], row["environment"]))
            if key in both and key is not None:
                of = sides.now[key]
                models[row["op"], row["klass"], of["test"], of["variant"]][side].add((of["suite"], of["model"]))
    return models


def fallback_table(changes: Iterable[FallbackChange]) -> Table:
    """Return one row per change."""
    return Table(title="Fallback ops", columns=_FALLBACKS, rows=tuple(map(_row, changes)))


def _row(change: FallbackChange) -> tuple[Cell, ...]:
    what = (change.change, change.op, change.klass, change.place, change.test, change.variant)
    lists = (", ".join(model_names(models).values()) for models in (change.now - change.last, change.last - change.now))
    return (*what, len(change.now), len(change.last), change.of, *lists)


_CHANGES = ("new", "in more models", "in other models", "in fewer models", "gone")


def _change(now: set[Model], last: set[Model]) -> str:
    if not last:
        return "new"
    if not now:
        return "gone"
    if len(now) == len(last):
        return "in other models"
    return "in more models" if len(now) > len(last) else "in fewer models"


def structure_tables(con: Connection, lanes: Iterable[LaneSides]) -> tuple[Table, Table]:
    """Return each number of graphs, ops, fusions or breaks that changed, and how many results have other programs."""
    numbers: list[tuple[Cell, ...]] = []
    programs: Counter[tuple[str, ...]] = Counter()
    sizes: Counter[tuple[str, ...]] = Counter()
    for sides in lanes:
        lane, both = sides.lane, sides.both(PASSED)
        if lane.last is None:
            continue
        passed = set(both)
        sizes.update((lane.name, sides.now[key]["test"], sides.now[key]["variant"]) for key in both)
        numbers += [row for key in both for row in _breaks(sides, key)]
        parameters = {"last": lane.last.run_id, "now": lane.now.run_id, "accelerator": lane.accelerator}
        for row in fetch(con, named("weekly_structure"), parameters):
            if (row["experiment_id"], row["environment"] or "default") in passed:
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


def _breaks(sides: LaneSides, key: Key) -> list[tuple[Cell, ...]]:
    now, last = sides.now[key], sides.last[key]
    what = (sides.lane.name, now["suite"], now["model"], now["test"], now["variant"])
    names = {"graphs_number": "compiled graphs", "graph_breaks_n": "graph breaks"}
    return [
        (*what, title, last[name], now[name])
        for name, title in names.items()
        if None not in (last[name], now[name]) and last[name] != now[name]
    ]
