"""Tables of page Overview: speedups, costs and changes, with a row per test, accelerator, suite and backend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data, tables, verdicts, widths
from dashboard.rows import KEYS, each, key_of
from dashboard.screens.overview.board import moved_share
from dashboard.tables import TableColumn, measured
from dashboard.words import DASH, escape, listed, missing, ratio, seconds
from store.metrics import metric
from store.stats.geomean import judge_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dashboard.screens.overview.board import Board
    from dashboard.view import View


def show(view: View, board: Board) -> None:
    """Draw the tables of speedups, costs and changes, each as wide as the window."""
    with st.expander("Every number of the table above", key="numbers", on_change="rerun") as part:
        if part.open:
            _table(view, board.cells, _speed_columns(view, board), "overview", behind(view, board))
    if board.cells["first_iteration_n"].sum():
        _costs(view, board.cells)
    if board.base is not None:
        show_moves(view, since(board.cells, view, board.base), board.base, board.base_name)


def _costs(view: View, cells: pd.DataFrame) -> None:
    memory = data.rows(view.snapshot, "memory_ratios", view.selection)
    columns = _cost_columns()
    cells = cells.merge(memory, on=KEYS, how="left") if len(memory) else cells.assign(memory_ratio=None)
    if cells["memory_ratio"].isna().all():
        columns = {name: column for name, column in columns.items() if not name.startswith("memory")}
    st.subheader("What it costs", anchor=False)
    st.caption(
        "Compile time, memory, fallback ops. The time of a steady iteration is subtracted from that of the first, so "
        "without a compilation the difference is about 0, and noise can make it negative."
    )
    behind = {what: data.statement(query, view.selection) for what, query in _COSTS.items()}
    _table(view, cells, columns, "costs", behind)


_COSTS = {"Counts and medians": "counts", "Memory": "memory_ratios"}
"""Kind of cost → its query."""


def behind(view: View, board: Board) -> dict[str, str]:
    """Return the SQL of the table of speedups, by what each statement returns."""
    statements = {"Geometric means": data.statement("geomeans", view.selection)}
    statements["How many ran, and why others did not"] = data.statement("counts", view.selection)
    if board.base is not None:
        before = {"before": board.base["run_id"]}
        runs = data.last_runs(view.snapshot, view.selection)
        statements["Since the run before"] = data.statement("geomean_changes", view.selection, **before)
        statements["Last runs"] = data.statement("last_geomeans", view.selection, **runs)
    return statements


def _table(view: View, cells: pd.DataFrame, columns: dict[str, TableColumn], what: str, sql: Mapping[str, str]) -> None:
    tables.show(
        cells,
        tables.without_constant(columns, cells, PLACE),
        key=what,
        alt=f"Results by test, suite and backend ({what})",
        file_name=view.file_name(what),
        sql=sql,
        whole=True,
        room=widths.PAGE_PX,
    )


def _speed_columns(view: View, board: Board) -> dict[str, TableColumn]:
    moved = board.cells["ran"].str.contains("→").any()
    columns = place_columns() | {
        "ran": TableColumn(
            "Ran",
            "verdict",
            width=125 if moved else 70,
            help="Experiments with steady samples, of those planned; where it moved, before → now.",
        ),
        "verified": TableColumn(
            "Verified", width=75, help="Results whose outputs agreed with the reference, of those that ran."
        ),
        "geomean": measured("geomean", "Speedup", f"Baseline: {view.baseline_text}; above 1 is faster.", 75),
        "interval": TableColumn(
            "95 %", width=90, help="Interval of the geometric mean: Student's t on the logs of the speedups."
        ),
        "n": TableColumn("n", "number", width=40, help=metric("n").definition),
    }
    if board.base:
        columns |= {
            "change": TableColumn(
                "Since the run before",
                "verdict",
                width=175,
                help=f"Since {board.base_name}: what became of the backend's own time, then its geomean before → now, "
                f"over the models of both. {_VERDICT_HELP}",
            ),
            "trend": TableColumn(
                "Last runs", "line", width=80, help="Geomean speedup of up to 13 runs of these series."
            ),
        }
    note = TableColumn(
        "No number", width=90 if moved else 200, help="How many experiments of the row gave no number, and why."
    )
    return columns | {"note": note}


def _cost_columns() -> dict[str, TableColumn]:
    over = "Median over models."
    return place_columns() | {
        "first_iteration_s": measured("first_iteration_s", "First iteration", over, 120),
        "first_iteration_n": TableColumn(
            "n", "number", width=40, help="Models behind the median of the first iteration."
        ),
        "compiler_time_s": measured("compiler_time_s", "Compiler says", over, 120),
        "compiler_time_n": TableColumn("n", "number", width=40, help="Models whose compiler reports its time."),
        "memory_ratio": measured("memory_ratio", "Memory", "Geometric mean over models.", 85),
        "memory_n": TableColumn("n", "number", width=40, help="Models behind the memory ratio."),
        "fallback": TableColumn(
            "Fallback",
            width=85,
            help="Models that called an op that XLA did not lower, of those counted; a dash for backends without XLA.",
        ),
    }


_VERDICT_HELP = (
    "Where the baseline's time moved, the text says so. Faster and slower: the interval over models excludes 1 and the "
    "change is above the noise floor; they are suspected, because two runs do not take turns. Unchanged: the whole "
    "interval is within the floor. All others are ambiguous."
)


class Measure(NamedTuple):
    """A mean over models that two runs may differ in."""

    label: str
    better: str
    worse: str
    floor: float
    """Least relative change that counts. No A/A pairs exist for these numbers, so it is the threshold of the HUD."""
    shown: Callable[[float], str]


MEASURES: dict[str, Measure] = {
    "first_iteration_s": Measure("First iteration", "faster", "slower", 0.15, seconds),
    "compiler_time_s": Measure("Compiler says", "faster", "slower", 0.15, seconds),
    "memory_ratio": Measure("Memory", "less memory", "more memory", 0.05, ratio),
}
_COUNTS = {"verified": "Verified", "fallback": "Fallback"}
_LESS_IS_BETTER = ("fallback",)
_NAMED = 2


PLACE = ("test", "accelerator", "suite")
"""Columns that identify a row; each is left out where all rows have the same value."""


def place_columns() -> dict[str, TableColumn]:
    """Return the pinned columns that identify a row of Overview's tables."""
    return {
        "test": TableColumn("Test", pinned=True, width=55),
        "accelerator": TableColumn("Accelerator", pinned=True, width=95),
        "suite": TableColumn("Suite", pinned=True, width=105),
        "series": TableColumn(
            "Backend", pinned=True, width=150, help="Backend plus every setting in which rows differ."
        ),
    }


def show_moves(view: View, moved: pd.DataFrame, base: dict[str, Any], base_name: str) -> None:
    """Draw an expander with the table of changed numbers; its title has how many changed.

    Args:
        view: what is shown.
        moved: cells of Overview with the columns that `since` adds.
        base: row of the run before.
        base_name: label and time of that run, escaped for markdown.
    """
    moved_names = [name for name in (*_COUNTS, *MEASURES) if (moved[f"{name}_move"] != DASH).any()]
    if not moved_names:
        return
    with st.expander(_title(moved, moved_names, base_name), key="moved", on_change="rerun") as part:
        if part.open:
            _moves_table(view, moved, moved_names, base)


def _title(moved: pd.DataFrame, moved_names: list[str], base_name: str) -> str:
    """Return how many of the numbers moved, and which got worse."""
    texts = [(row, name, getattr(row, f"{name}_move")) for row in each(moved) for name in moved_names]
    known = [(row, name, text) for row, name, text in texts if text != DASH]
    better, worse = (
        [_named(row, name) for row, name, text in known if text.startswith(verdicts.look(word).sign)]
        for word in ("faster", "slower")
    )
    parts = [verdicts.coloured("faster", f"{len(better)} better")] if better else []
    if worse:
        parts.append(f"{verdicts.coloured('slower', f'{len(worse)} worse')} ({listed(worse, _NAMED)})")
    rest = f"{len(known) - len(better) - len(worse)} unchanged or ambiguous"
    return f"Costs since {base_name}: {', '.join([*parts, rest])}"


def _named(row: Any, name: str) -> str:
    label = _COUNTS[name] if name in _COUNTS else MEASURES[name].label
    return escape(f"{label} of {row.series} in {row.test} {row.accelerator} {row.suite}")


def _moves_table(view: View, moved: pd.DataFrame, moved_names: list[str], base: dict[str, Any]) -> None:
    before = {"before": base["run_id"]}
    st.caption("Each cell has the number of the run before → that of the shown run.")
    tables.show(
        moved,
        tables.without_constant(_moves_columns(moved_names), moved, PLACE),
        key="moves",
        alt="What moved since the run before",
        file_name=view.file_name("moves"),
        sql={
            "Counts of the shown run": data.statement("counts", view.selection),
            "Counts of the run before": data.statement("counts", replace(view.selection, run_id=base["run_id"])),
            "Times and memory": data.statement("cost_changes", view.selection, **before),
        },
        whole=True,
    )


def since(cells: pd.DataFrame, view: View, base: dict[str, Any]) -> pd.DataFrame:
    """Add a text for each number's change, and for means the change's interval and number of models."""
    known = {key_of(row): row for row in each(_counts(view, base))}
    means = data.rows(view.snapshot, "cost_changes", view.selection, before=base["run_id"])
    moved = {(key_of(row), row.measure): row for row in each(means)}
    rows = list(each(cells))
    columns: dict[str, list[Any]] = {
        f"{name}_move": [_count(row, known.get(key_of(row)), name) for row in rows] for name in _COUNTS
    }
    for name, measure in MEASURES.items():
        matched = [moved.get((key_of(row), name)) for row in rows]
        columns[f"{name}_move"] = [_mean(row, measure) for row in matched]
        for number in ("better", "better_low", "better_high", "n"):
            values = [None if row is None else getattr(row, number) for row in matched]
            columns[f"{name}_{number}"] = pd.to_numeric(pd.Series(values, dtype=object)).tolist()
    return cells.assign(**columns)


def _counts(view: View, base: dict[str, Any]) -> pd.DataFrame:
    return data.rows(view.snapshot, "counts", replace(view.selection, run_id=base["run_id"]))


def _mean(row: Any | None, measure: Measure) -> str:
    """Return sign, word, both means and the number of models; a dash where no model has both."""
    if row is None:
        return DASH
    low, high = (None if missing(value) else float(value) for value in (row.better_low, row.better_high))
    word = judge_mean(float(row.better), low, high, int(row.n), measure.floor).word
    words = {"faster": measure.better, "slower": measure.worse}.get(word, verdicts.look(word).word)
    return f"{verdicts.look(word).sign} {words}, {measure.shown(row.before)} → {measure.shown(row.after)}, n = {row.n}"


def _count(now: Any, then: Any | None, name: str) -> str:
    """Return sign, word and both shares; a dash where one of them is not known."""
    after, before = (None if row is None else _share(row, name) for row in (now, then))
    if not after or not before:
        return DASH
    return moved_share(before, after, less_is_better=name in _LESS_IS_BETTER)


def _share(row: Any, name: str) -> tuple[int, int] | None:
    """Return the part and the whole of a share, or None where they are not known."""
    if name == "fallback" and not row.backend.startswith("openxla"):
        return None
    of = {"verified": (row.right_n, row.checked_n), "fallback": (row.fallback_models_n, row.fallback_known_n)}
    part, whole = of[name]
    return None if missing(whole) or not whole else (int(part), int(whole))


def _moves_columns(moved_names: list[str]) -> dict[str, TableColumn]:
    over = "Geometric means over the models that have it in both runs."
    columns = place_columns()
    helps = {
        "verified": "Results that agreed with the reference, of those that were compared.",
        "fallback": "Models that called an op that XLA did not lower, of those counted.",
    }
    for name in moved_names:
        if name in _COUNTS:
            columns[f"{name}_move"] = TableColumn(_COUNTS[name], "verdict", help=helps[name])
            continue
        measure = MEASURES[name]
        help_text = (
            f"{over} {measure.better.capitalize()} and {measure.worse}: the interval over models is clear of 1 and the "
            f"change above {measure.floor:.0%}; suspected, as two runs take no turns."
        )
        columns[f"{name}_move"] = TableColumn(measure.label, "verdict", help=help_text)
        for number, label, kind in (
            ("better", "change", "ratio"),
            ("better_low", "low", "ratio"),
            ("better_high", "high", "ratio"),
            ("n", "n", "number"),
        ):
            text = "Above 1 is better." if kind == "ratio" else "Models that have it in both runs."
            columns[f"{name}_{number}"] = TableColumn(f"{measure.label}, {label}", kind, help=text, filed=True)  # type: ignore[arg-type]
    return columns
